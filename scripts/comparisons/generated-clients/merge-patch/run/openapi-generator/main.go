package main

import (
	"context"
	"os"

	items "session/go"
)

func main() {
	configuration := items.NewConfiguration()
	configuration.Servers = items.ServerConfigurations{{URL: os.Getenv("URL")}}
	api := items.NewAPIClient(configuration).DefaultAPI
	patch := items.ItemPatch{}
	patch.SetNoteNil()
	_, _, err := api.PatchItem(context.Background(), 1).ItemPatch(patch).Execute()
	must(err)
	_, _, err = api.PatchBoth(context.Background(), 1).ItemPatch(patch).Execute()
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
