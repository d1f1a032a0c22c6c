package main

import (
	"context"
	"os"

	"session/oapi"
)

func main() {
	client, err := oapi.NewClientWithResponses(os.Getenv("URL"))
	must(err)
	patch := oapi.ItemPatch{Note: nil}
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
