// A session with the client that openapi-generator generates for Java. Exits with 1 at the first unexpected result.

import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AnimalsApi;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.ErrorCode;
import org.openapitools.client.model.NewPet;
import org.openapitools.client.model.PetStatus;

public class Session {
  private interface Call {
    void run() throws ApiException;
  }

  public static void main(String[] args) throws Exception {
    var store = open("URL", System.getenv("KEY"));
    var pet = new NewPet().name("Zoë").categoryId(Long.MAX_VALUE).status(PetStatus.SOLD);
    var created = store.createPet(pet, System.getenv("IDEMPOTENCY_KEY"), null);
    var read = store.getPet(created.getId(), null);
    var isRead = read.getName().equals("Zoë") && read.getCategoryId() == Long.MAX_VALUE && read.getStatus() == PetStatus.SOLD;
    expect("create and read", isRead, read);
    var again = store.createPet(pet, System.getenv("IDEMPOTENCY_KEY"), null);
    expect("create again", again.getId().equals(created.getId()), again);
    store.createPet(new NewPet().name("Bo").categoryId(Long.MIN_VALUE), null, null);

    var first = store.listPets(1, null, null, null).get(0);
    var second = store.listPets(1, null, first.getId(), null);
    expect("next page", second.size() == 1 && second.get(0).getId() > first.getId(), second);

    refused("400", () -> store.listPets(0, null, null, null), 400, ErrorCode.INVALID_REQUEST);
    refused("401", () -> open("URL", "wrong").listPets(null, null, null, null), 401, ErrorCode.INVALID_API_KEY);
    refused("404", () -> store.getPet(Long.MAX_VALUE, null), 404, ErrorCode.PET_NOT_FOUND);
    var free = open("URL", System.getenv("FREE_KEY"));
    var error = refused("429", () -> { while (true) free.listPets(null, null, null, null); }, 429, ErrorCode.RATE_LIMIT_EXCEEDED);
    expect("Retry-After", error.getResponseHeaders().firstValue("Retry-After").isPresent(), error);

    var future = open("FUTURE_URL", "key");
    var status = future.listPets(null, null, null, null).get(0).getStatus();
    expect("new field and status", status == PetStatus.UNKNOWN_DEFAULT_OPEN_API, status);
    refused("new error code", () -> future.getPet(1L, null), 404, ErrorCode.UNKNOWN_DEFAULT_OPEN_API);
  }

  private static AnimalsApi open(String url, String key) {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv(url));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    return new AnimalsApi(client);
  }

  private static ApiException refused(String label, Call call, int status, ErrorCode code) throws Exception {
    try {
      call.run();
    } catch (ApiException error) {
      var body = ApiClient.createDefaultObjectMapper().readValue(error.getResponseBody(), Error.class);
      expect(label, error.getCode() == status && body.getCode() == code, error.getMessage());
      return error;
    }
    throw new IllegalStateException(label + ": not refused");
  }

  private static void expect(String label, boolean ok, Object actual) {
    if (!ok) throw new IllegalStateException(label + ": " + actual);
    System.out.println(label);
  }
}
