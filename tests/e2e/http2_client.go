// Go's net/http over HTTP/2: creates users from many goroutines over one connection, reads them back, and sends bodies that
// the service refuses early. Prints one JSON line of what it saw.
//
//	http2_client BASE CERTIFICATE COUNT, the key in LATCHKEY_KEY
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type outcome struct {
	Protocols map[string]int `json:"protocols"`
	Statuses  map[string]int `json:"statuses"`
	Errors    []string       `json:"errors"`
}

func main() {
	base, certificate := os.Args[1], os.Args[2]
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	pem, err := os.ReadFile(certificate)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{
		Timeout: 20 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
		},
	}
	seen := outcome{Protocols: map[string]int{}, Statuses: map[string]int{}, Errors: []string{}}
	var guard sync.Mutex
	send := func(kind, method, path, body string) []byte {
		request, err := http.NewRequest(method, base+path, strings.NewReader(body))
		check(err)
		request.Header.Set("Authorization", "Bearer "+os.Getenv("LATCHKEY_KEY"))
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := client.Do(request)
		var content []byte
		if err == nil {
			content, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		guard.Lock()
		defer guard.Unlock()
		if err != nil {
			seen.Errors = append(seen.Errors, kind+": "+err.Error())
			return nil
		}
		seen.Protocols[response.Proto]++
		seen.Statuses[fmt.Sprintf("%s %d", kind, response.StatusCode)]++
		return content
	}
	send("first", "GET", "/api/v1/users?limit=1", "")
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			email := fmt.Sprintf("go-%d@example.com", number)
			content := send("create", "POST", "/api/v1/users", fmt.Sprintf(`{"name":"Gopher","email":%q}`, email))
			var user struct {
				ID    int64  `json:"id"`
				Email string `json:"email"`
			}
			if json.NewDecoder(bytes.NewReader(content)).Decode(&user) != nil || user.Email != email {
				return
			}
			send("read", "GET", fmt.Sprintf("/api/v1/users/%d", user.ID), "")
			// Whatever else is in flight is not disturbed by these.
			if number%8 == 0 {
				send("large", "POST", "/api/v1/users", strings.Repeat(" ", 1<<21))
				send("unknown", "POST", "/api/v1/nothing", strings.Repeat(" ", 1<<15))
			}
		}(i)
	}
	group.Wait()
	check(json.NewEncoder(os.Stdout).Encode(seen))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
