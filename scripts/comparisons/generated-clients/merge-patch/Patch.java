import org.openapitools.client.ApiClient;
import org.openapitools.client.api.DefaultApi;
import org.openapitools.client.model.ItemPatch;

public class Patch {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("URL"));
        DefaultApi items = new DefaultApi(client);
        items.patchItem(1L, new ItemPatch().note(null));
        items.patchBoth(1L, new ItemPatch().note(null));
    }
}
