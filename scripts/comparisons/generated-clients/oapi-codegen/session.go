// A session with the client that oapi-codegen generates, in the package `animals`. Exits with 1 at the first unexpected result.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"session/animals"
)

const exact = 9223372036854775807

func main() {
	ctx := context.Background()
	store := open("URL", os.Getenv("KEY"))

	sold := animals.Sold
	idempotencyKey := os.Getenv("IDEMPOTENCY_KEY")
	create := func() *animals.Pet {
		once := &animals.CreatePetParams{IdempotencyKey: &idempotencyKey}
		created, err := store.CreatePetWithResponse(ctx, once, animals.NewPet{Name: "Zoë", CategoryId: exact, Status: &sold})
		must(err)
		expect("201", created.JSON201 != nil, string(created.Body))
		return created.JSON201
	}
	created := create()
	read, err := store.GetPetWithResponse(ctx, created.Id, nil)
	must(err)
	pet := read.JSON200
	expect("create and read", pet.Name == "Zoë" && pet.CategoryId == exact && *pet.Status == animals.Sold, string(read.Body))
	expect("create again", create().Id == created.Id, created.Id)
	_, err = store.CreatePetWithResponse(ctx, nil, animals.NewPet{Name: "Bo", CategoryId: -exact - 1})
	must(err)

	one := int32(1)
	first, err := store.ListPetsWithResponse(ctx, &animals.ListPetsParams{Limit: &one})
	must(err)
	after := (*first.JSON200)[0].Id
	second, err := store.ListPetsWithResponse(ctx, &animals.ListPetsParams{Limit: &one, After: &after})
	must(err)
	pages := [][]animals.Pet{*first.JSON200, *second.JSON200}
	expect("next page", len(pages[0]) == 1 && len(pages[1]) == 1 && pages[1][0].Id > pages[0][0].Id, pages)

	none := int32(0)
	invalid, err := store.ListPetsWithResponse(ctx, &animals.ListPetsParams{Limit: &none})
	must(err)
	refused("400", invalid.JSON400, animals.ErrorCodeInvalidRequest)
	unknown, err := open("URL", "wrong").ListPetsWithResponse(ctx, nil)
	must(err)
	refused("401", unknown.JSON401, animals.ErrorCodeInvalidApiKey)
	absent, err := store.GetPetWithResponse(ctx, exact, nil)
	must(err)
	refused("404", absent.JSON404, animals.ErrorCodePetNotFound)

	free := open("URL", os.Getenv("FREE_KEY"))
	answer := &animals.ListPetsResponse{}
	for answer.JSON429 == nil {
		answer, err = free.ListPetsWithResponse(ctx, nil)
		must(err)
	}
	refused("429", answer.JSON429, animals.ErrorCodeRateLimitExceeded)
	expect("Retry-After", answer.Headers429.RetryAfter > 0, answer.Headers429)

	future := open("FUTURE_URL", os.Getenv("KEY"))
	page, err := future.ListPetsWithResponse(ctx, nil)
	must(err)
	rex := (*page.JSON200)[0]
	expect("new field and status", rex.Name == "Rex" && *rex.Status == "reserved", string(page.Body))
	reserved, err := future.GetPetWithResponse(ctx, 1, nil)
	must(err)
	refused("new error code", reserved.JSON404, "pet_reserved")
}

func open(address string, key string) *animals.ClientWithResponses {
	authorize := animals.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	})
	client, err := animals.NewClientWithResponses(os.Getenv(address), authorize)
	must(err)
	return client
}

func refused(label string, body *animals.Error, code animals.ErrorCode) {
	expect(label, body != nil && body.Code == code && body.Message != "", body)
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
