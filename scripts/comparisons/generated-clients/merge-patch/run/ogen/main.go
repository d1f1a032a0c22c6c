package main

import (
	"context"
	"os"

	"session/ogen"
)

func main() {
	client, err := ogen.NewClient(os.Getenv("URL"))
	must(err)
	patch := ogen.ItemPatch{}
	patch.Note.SetToNull()
	_, err = client.PatchItem(context.Background(), &patch, ogen.PatchItemParams{ItemId: 1})
	must(err)
	both := ogen.PatchBothApplicationMergePatchJSON(patch)
	_, err = client.PatchBoth(context.Background(), &both, ogen.PatchBothParams{ItemId: 1})
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
