// A session with the client that openapi-generator generates for Kotlin. Exits with 1 at the first unexpected result.

import com.fasterxml.jackson.module.kotlin.readValue
import org.openapitools.client.apis.AnimalsApi
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.models.Error
import org.openapitools.client.models.ErrorCode
import org.openapitools.client.models.NewPet
import org.openapitools.client.models.Pet
import org.openapitools.client.models.PetStatus
import okhttp3.OkHttpClient

fun main() {
    val store = open("URL", environment("KEY"))
    val pet = NewPet(name = "Zoë", categoryId = Long.MAX_VALUE, status = PetStatus.sold)
    val created = store.createPet(pet, environment("IDEMPOTENCY_KEY"))
    val read = store.getPet(created.id)
    expect("create and read", read == Pet(created.id, "Zoë", Long.MAX_VALUE, PetStatus.sold), read)
    val again = store.createPet(pet, environment("IDEMPOTENCY_KEY"))
    expect("create again", again.id == created.id, again)
    val least = store.createPet(NewPet(name = "Bo", categoryId = Long.MIN_VALUE))
    expect("the least int64", least.categoryId == Long.MIN_VALUE, least)

    val first = store.listPets(limit = 1)
    val second = store.listPets(limit = 1, after = first.last().id)
    expect("next page", second.single().id > first.single().id, second)

    refused("400", 400, ErrorCode.invalid_request) { store.listPets(limit = 0) }
    refused("401", 401, ErrorCode.invalid_api_key) { open("URL", "wrong").listPets() }
    refused("404", 404, ErrorCode.pet_not_found) { store.getPet(Long.MAX_VALUE) }
    val free = open("URL", environment("FREE_KEY"))
    val refusal = refused("429", 429, ErrorCode.rate_limit_exceeded) { while (true) free.listPets() }
    expect("Retry-After", refusal.headers["retry-after"]!!.single().toInt() > 0, refusal.headers)

    val future = open("FUTURE_URL", "key")
    val rex = future.listPets().single()
    expect("new field and status", rex.status == PetStatus.unknown_default_open_api, rex)
    refused("new error code", 404, ErrorCode.unknown_default_open_api) { future.getPet(1) }
}

// ApiClient.accessToken is global, so each client sends its key with its own OkHttp.
private fun open(url: String, key: String): AnimalsApi {
    val http = OkHttpClient.Builder().addInterceptor { chain ->
        chain.proceed(chain.request().newBuilder().header("Authorization", "Bearer $key").build())
    }
    return AnimalsApi(environment(url), http.build())
}

private fun refused(label: String, status: Int, code: ErrorCode, call: () -> Unit): ClientError<*> {
    try {
        call()
    } catch (error: ClientException) {
        val refusal = error.response as ClientError<*>
        val body = Serializer.jacksonObjectMapper.readValue<Error>(refusal.body as String)
        expect(label, error.statusCode == status && body.status == status && body.code == code, body)
        return refusal
    }
    throw IllegalStateException("$label: not refused")
}

private fun environment(name: String): String = System.getenv(name) ?: throw IllegalStateException("no $name")

private fun expect(label: String, ok: Boolean, actual: Any?) {
    check(ok) { "$label: $actual" }
    println(label)
}
