// A session with the client that openapi-generator generates for Go, in the package `animals`. Exits with 1 at the first unexpected result.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"session/animals"
)

const exact = 9223372036854775807

func main() {
	store := open("URL")
	mine := context.WithValue(context.Background(), animals.ContextAccessToken, os.Getenv("KEY"))

	pet := animals.NewPetInput("Zoë", exact)
	pet.SetStatus(animals.PETSTATUS_SOLD)
	create := func() *animals.Pet {
		created, _, err := store.CreatePet(mine).PetInput(*pet).IdempotencyKey(os.Getenv("IDEMPOTENCY_KEY")).Execute()
		must(err)
		return created
	}
	created := create()
	read, _, err := store.GetPet(mine, created.Id).Execute()
	must(err)
	expect("create and read", *read.Status == animals.PETSTATUS_SOLD && read.Name == "Zoë" && read.CategoryId == exact, read)
	expect("create again", create().Id == created.Id, created.Id)
	_, _, err = store.CreatePet(mine).PetInput(*animals.NewPetInput("Bo", -exact-1)).Execute()
	must(err)

	page, _, err := store.ListPets(mine).Limit(1).Execute()
	must(err)
	second, _, err := store.ListPets(mine).Limit(1).After(page[0].Id).Execute()
	must(err)
	expect("next page", len(page) == 1 && len(second) == 1 && second[0].Id > page[0].Id, page, second)

	_, response, err := store.ListPets(mine).Limit(0).Execute()
	refused("400", response, err, 400, animals.ERRORCODE_INVALID_REQUEST)
	wrong := context.WithValue(context.Background(), animals.ContextAccessToken, "wrong")
	_, response, err = store.ListPets(wrong).Execute()
	refused("401", response, err, 401, animals.ERRORCODE_INVALID_API_KEY)
	_, response, err = store.GetPet(mine, exact).Execute()
	refused("404", response, err, 404, animals.ERRORCODE_PET_NOT_FOUND)

	free := context.WithValue(context.Background(), animals.ContextAccessToken, os.Getenv("FREE_KEY"))
	for err = nil; err == nil; {
		_, response, err = store.ListPets(free).Execute()
	}
	refused("429", response, err, 429, animals.ERRORCODE_RATE_LIMIT_EXCEEDED)
	expect("Retry-After", response.Header.Get("Retry-After") != "", response.Header)

	future := open("FUTURE_URL")
	page, _, err = future.ListPets(mine).Execute()
	must(err)
	expect("new field and status", page[0].Name == "Rex" && *page[0].Status == "reserved", page)
	_, response, err = future.GetPet(mine, 1).Execute()
	refused("new error code", response, err, 404, "pet_reserved")
}

func open(name string) *animals.AnimalsAPIService {
	configuration := animals.NewConfiguration()
	configuration.Servers = animals.ServerConfigurations{{URL: os.Getenv(name)}}
	return animals.NewAPIClient(configuration).AnimalsAPI
}

func refused(label string, response *http.Response, err error, status int, code animals.ErrorCode) {
	var failure *animals.GenericOpenAPIError
	if !errors.As(err, &failure) {
		expect(label, false, err)
	}
	body, isTyped := failure.Model().(animals.Error)
	expect(label, isTyped && response.StatusCode == status && body.Code == code, err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(label string, ok bool, actual ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: %+v\n", label, actual)
		os.Exit(1)
	}
	fmt.Println(label)
}
