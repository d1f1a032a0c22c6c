// What the clients of oapi-codegen and ogen do with streams. Exits with 1 at the first unexpected result.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"session/ogen"
	"session/toys"
)

// Writes a toy, goes on with another when it is told to, and ends.
type feed struct {
	asked    atomic.Int32
	next     chan bool
	lastSeen atomic.Value
}

func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked.Add(1)
	f.lastSeen.Store(r.Header.Get("Last-Event-ID"))
	if r.Header.Get("Authorization") != "Bearer key" {
		w.WriteHeader(401)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "id: 1\nretry: 10\ndata: {\"id\":1}\n\n")
	w.(http.Flusher).Flush()
	<-f.next
	fmt.Fprint(w, "id: 2\ndata: {\"id\":2}\n\n")
}

type key string

func (k key) Key(context.Context, ogen.OperationName) (ogen.Key, error) {
	return ogen.Key{Token: string(k)}, nil
}

func main() {
	f := &feed{next: make(chan bool, 1)}
	server := httptest.NewServer(f)
	ctx := context.Background()

	authorize := toys.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer key")
		return nil
	})
	client, err := toys.NewClientWithResponses(server.URL, authorize)
	must(err)
	response, err := client.WatchToys(ctx)
	must(err)
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	must(err)
	expect("oapi-codegen's WatchToys returns at the first item", line == "id: 1\n", line)
	f.next <- true
	response.Body.Close()
	read := make(chan error)
	go func() {
		_, err := client.WatchToysWithResponse(ctx)
		read <- err
	}()
	select {
	case err := <-read:
		expect("WatchToysWithResponse waits", false, err)
	case <-time.After(200 * time.Millisecond):
		f.next <- true
		must(<-read)
		fmt.Println("oapi-codegen's WatchToysWithResponse reads to the end")
	}

	f.asked.Store(0)
	store, err := ogen.NewClient(server.URL, key("key"))
	must(err)
	stream, err := store.WatchToys(ctx)
	must(err)
	first, err := stream.Next(ctx)
	must(err)
	f.next <- true
	second, err := stream.Next(ctx)
	must(err)
	expect("ogen reads events as they come", first.Data.ID == 1 && second.Data.ID == 2, first, second)
	again, err := stream.Next(ctx)
	must(err)
	expect("ogen goes on behind the last event", again.Data.ID == 1 && f.lastSeen.Load() == "2", again, f.lastSeen.Load())
	must(stream.Close())

	f.asked.Store(0)
	refused, err := ogen.NewClient(server.URL, key("wrong"))
	must(err)
	_, err = refused.WatchToys(ctx)
	expect("ogen returns a refusal", err != nil && f.asked.Load() == 1, err, f.asked.Load())
	os.Exit(0)
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
