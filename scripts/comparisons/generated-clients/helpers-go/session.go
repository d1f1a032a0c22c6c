// Prints the row of ../README.md for go-retryablehttp, as measured. Exits with 1 if it is not in the page, which
// is the argument, or if the setting does not help.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const day = 86_400

// The seconds that a client would wait before it repeats a request, which fails at first; less than 0 if it does not.
func gapOf(client *retryablehttp.Client, method string, status int, seconds int) float64 {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case asked > 1:
			fmt.Fprint(w, "[]")
		case status == 0:
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Retry-After", strconv.Itoa(seconds))
			w.WriteHeader(status)
		}
	}))
	defer server.Close()
	gap, backoff := -1.0, client.Backoff
	client.Backoff = func(least, most time.Duration, n int, response *http.Response) time.Duration {
		if gap < 0 {
			gap = backoff(least, most, n, response).Seconds()
		}
		return 0
	}
	defer func() { client.Backoff = backoff }()
	request, err := retryablehttp.NewRequest(method, server.URL, []byte(`{"name":"Rex","categoryId":3}`))
	if err != nil {
		panic(err)
	}
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
	}
	if asked < 2 {
		return -1
	}
	return gap
}

func begun() *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.Logger = nil
	return client
}

// Leaves a longer wait to its caller.
func right() *retryablehttp.Client {
	client := begun()
	client.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if response != nil {
			if seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")); seconds > 60 {
				return false, nil
			}
		}
		return retryablehttp.DefaultRetryPolicy(ctx, response, err)
	}
	return client
}

func main() {
	var waits, posts []string
	for _, status := range []int{409, 429, 503} {
		if gapOf(begun(), "GET", status, 7) >= 7 {
			waits = append(waits, strconv.Itoa(status))
		}
		if gapOf(begun(), "POST", status, 7) >= 0 {
			posts = append(posts, strconv.Itoa(status))
		}
	}
	if gapOf(begun(), "POST", 0, 0) >= 0 {
		posts = append(posts, "a lost connection")
	}
	longest := "any"
	if gap := gapOf(begun(), "GET", 429, day); gap < day {
		longest = fmt.Sprintf("%.0f s, repeats", gap)
	}
	setting := "`CheckRetry` that returns false if `Retry-After` is more than 60"
	cells := []string{strings.Join(waits, ", "), longest, strings.Join(posts, ", "), setting}
	row := "| go-retryablehttp 0.7.8 | " + strings.Join(cells, " | ") + " |"
	fmt.Println(row)
	page, err := os.ReadFile(os.Args[1])
	isShown := err == nil && slices.Contains(strings.Split(string(page), "\n"), row)
	helps := gapOf(right(), "GET", 429, 7) == 7 && gapOf(right(), "GET", 429, day) < 0
	if !isShown || !helps {
		fmt.Println("  not so:", isShown, helps)
		os.Exit(1)
	}
}
