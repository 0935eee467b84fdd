// The peer in Go: net/http with the same work. The key's SHA-256 is looked up, its token bucket is charged, the user is
// found by its id and written as JSON, the request is logged as a line of JSON.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type client struct {
	name   string
	lock   sync.Mutex
	tokens float64
	at     time.Time
}

const burst, rate = 1e8, 1e8 / 60

func (c *client) admit(now time.Time) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.tokens += now.Sub(c.at).Seconds() * rate
	if c.tokens > burst {
		c.tokens = burst
	}
	c.at = now
	if c.tokens < 1 {
		return false
	}
	c.tokens--
	return true
}

type user struct {
	ID        int    `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

type entry struct {
	Time     string `json:"ts"`
	Client   string `json:"client"`
	Method   string `json:"method"`
	Path     string `json:"path"`
	Status   int    `json:"status"`
	Duration int64  `json:"duration_us"`
	Agent    string `json:"user_agent"`
}

// Arguments: port, keys file, number of users, log file or "off", port of TLS, its certificate and key.
func main() {
	clients := map[[32]byte]*client{}
	text, _ := os.ReadFile(os.Args[2])
	for i, key := range strings.Fields(string(text)) {
		clients[sha256.Sum256([]byte(key))] = &client{name: fmt.Sprint("c", i), tokens: burst, at: time.Now()}
	}
	count, _ := strconv.Atoi(os.Args[3])
	users := make(map[int]user, count)
	for i := 1; i <= count; i++ {
		users[i] = user{i, "Ada Lovelace", fmt.Sprintf("user%d@example.com", i), "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"}
	}
	var log *bufio.Writer
	var logLock sync.Mutex
	if os.Args[4] != "off" {
		file, _ := os.Create(os.Args[4])
		log = bufio.NewWriterSize(file, 65536)
	}
	http.HandleFunc("/api/v1/users/", func(out http.ResponseWriter, in *http.Request) {
		begin := time.Now()
		status := 200
		who := clients[sha256.Sum256([]byte(in.Header.Get("X-API-Key")))]
		id, wrong := strconv.Atoi(strings.TrimPrefix(in.URL.Path, "/api/v1/users/"))
		found, known := users[id]
		switch {
		case who == nil:
			status = 401
		case !who.admit(begin):
			status = 429
		case wrong != nil || !known:
			status = 404
		}
		if status == 200 {
			out.Header().Set("Content-Type", "application/json; charset=utf-8")
			json.NewEncoder(out).Encode(found)
		} else {
			out.WriteHeader(status)
		}
		if log != nil && who != nil {
			line, _ := json.Marshal(entry{begin.UTC().Format(time.RFC3339Nano), who.name, in.Method, in.URL.Path, status,
				time.Since(begin).Microseconds(), in.UserAgent()})
			logLock.Lock()
			log.Write(line)
			log.WriteByte('\n')
			logLock.Unlock()
		}
	})
	go func() { panic(http.ServeTLS(listen(os.Args[5]), nil, os.Args[6], os.Args[7])) }()
	panic(http.Serve(listen(os.Args[1]), nil))
}

func listen(port string) net.Listener {
	listener, wrong := net.Listen("tcp", "127.0.0.1:"+port)
	if wrong != nil {
		panic(wrong)
	}
	return listener
}
