package main

import (
	"context"
	"os"

	"github.com/oapi-codegen/nullable"

	items "session/nullable"
)

func main() {
	client, err := items.NewClientWithResponses(os.Getenv("URL"))
	must(err)
	patch := items.ItemPatch{Note: nullable.NewNullNullable[string]()}
	_, err = client.PatchItemWithApplicationMergePatchPlusJSONBodyWithResponse(context.Background(), 1, patch)
	must(err)
	_, err = client.PatchBothWithApplicationMergePatchPlusJSONBodyWithResponse(context.Background(), 1, patch)
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
