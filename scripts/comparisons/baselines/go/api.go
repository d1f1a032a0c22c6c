// A hand-written equivalent of oapi-codegen's strict server: an interface with a method for each operation, validated typed requests,
// and routes for `net/http`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"
)

type Pet struct {
	ID         int64   `json:"id"`
	Name       string  `json:"name"`
	CategoryID int64   `json:"categoryId"`
	Status     *string `json:"status,omitempty"`
}

type NewPet struct {
	Name       string  `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     *string `json:"status"`
}

type ListPetsRequest struct {
	Limit   int
	Status  *string
	AfterID int64
}

// Error is a response that is not a success.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

func (e Error) Error() string { return e.Message }

type StrictServer interface {
	ListPets(ctx context.Context, request ListPetsRequest) ([]Pet, error)
	CreatePet(ctx context.Context, request NewPet) (Pet, error)
	GetPet(ctx context.Context, petID int64) (Pet, error)
}

func routes(server StrictServer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", operation(http.StatusOK, readListPets, server.ListPets))
	mux.HandleFunc("POST /v1/pets", operation(http.StatusCreated, readCreatePet, server.CreatePet))
	mux.HandleFunc("GET /v1/pets/{petId}", operation(http.StatusOK, readGetPet, server.GetPet))
	return mux
}

func operation[Request, Body any](
	status int,
	read func(*http.Request) (Request, error),
	run func(context.Context, Request) (Body, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request, err := read(r)
		if err != nil {
			write(w, http.StatusBadRequest, Error{"invalid_request", err.Error(), http.StatusBadRequest})
			return
		}
		body, err := run(r.Context(), request)
		if declared, ok := err.(Error); ok {
			write(w, declared.Status, declared)
		} else if err != nil {
			write(w, http.StatusInternalServerError, Error{"internal_error", "error", http.StatusInternalServerError})
		} else {
			write(w, status, body)
		}
	}
}

func write(w http.ResponseWriter, status int, body any) {
	text, _ := json.Marshal(body) // these types always marshal
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func readListPets(r *http.Request) (request ListPetsRequest, err error) {
	request.Limit = 20
	for name, values := range r.URL.Query() {
		switch name {
		case "limit":
			request.Limit, err = strconv.Atoi(values[0])
			if err != nil || request.Limit < 1 || request.Limit > 100 {
				return request, fmt.Errorf("query.limit must be an integer from 1 to 100")
			}
		case "status":
			request.Status = &values[0]
		case "after":
			if request.AfterID, err = strconv.ParseInt(values[0], 10, 64); err != nil {
				return request, fmt.Errorf("query.after must be an integer")
			}
		default:
			return request, fmt.Errorf("query.%s is unknown", name)
		}
	}
	return request, validStatus(request.Status)
}

func readCreatePet(r *http.Request) (pet NewPet, err error) {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 65_536))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&pet); err != nil {
		return pet, err
	}
	if length := utf8.RuneCountInString(pet.Name); length < 1 || length > 255 || pet.CategoryID == nil {
		return pet, fmt.Errorf("body must have a name of 1 to 255 characters and a categoryId")
	}
	return pet, validStatus(pet.Status)
}

func readGetPet(r *http.Request) (int64, error) {
	return strconv.ParseInt(r.PathValue("petId"), 10, 64)
}

func validStatus(status *string) error {
	if status == nil || *status == "available" || *status == "pending" || *status == "sold" {
		return nil
	}
	return fmt.Errorf("status must be one of available, pending, sold")
}
