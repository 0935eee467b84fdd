// The peer of a cluster's nodes: what a service does that keeps nothing itself. Each request is one prepared SELECT, which
// finds the key by its SHA-256 and the user by its id, over a pool of connections to PostgreSQL (pgx).
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

type user struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

const question = `SELECT u.id, u.name, u.email, u.created_at, u.updated_at FROM peer_key k JOIN peer_user u ON u.id = $2 WHERE k.digest = $1`

// Arguments: port, connection string, how many connections.
func main() {
	settings, wrong := pgxpool.ParseConfig(os.Args[2])
	if wrong != nil {
		panic(wrong)
	}
	count, _ := strconv.Atoi(os.Args[3])
	settings.MaxConns, settings.MinConns = int32(count), int32(count)
	pool, wrong := pgxpool.ConnectConfig(context.Background(), settings)
	if wrong != nil {
		panic(wrong)
	}
	http.HandleFunc("/api/v1/users/", func(out http.ResponseWriter, in *http.Request) {
		digest := sha256.Sum256([]byte(in.Header.Get("X-API-Key")))
		id, wrong := strconv.ParseInt(strings.TrimPrefix(in.URL.Path, "/api/v1/users/"), 10, 64)
		if wrong != nil {
			out.WriteHeader(404)
			return
		}
		var found user
		wrong = pool.QueryRow(in.Context(), question, digest[:], id).
			Scan(&found.ID, &found.Name, &found.Email, &found.CreatedAt, &found.UpdatedAt)
		switch {
		case wrong == pgx.ErrNoRows:
			out.WriteHeader(401)
		case wrong != nil:
			out.WriteHeader(503)
		default:
			out.Header().Set("Content-Type", "application/json; charset=utf-8")
			json.NewEncoder(out).Encode(found)
		}
	})
	listener, wrong := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if wrong != nil {
		panic(wrong)
	}
	panic(http.Serve(listener, nil))
}
