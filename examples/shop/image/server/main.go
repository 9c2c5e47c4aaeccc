// Command server is the program of the shop's image: it serves the page, and prints a line for each request. With the
// argument check it requests the page from the server that runs beside it, as a person who debugs does.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const page = "/srv/index.html"

func main() {
	// POD_IP is the address of the pod; without it, the server listens at every address
	address := net.JoinHostPort(os.Getenv("POD_IP"), "8080")
	err := error(nil)
	if len(os.Args) > 1 && os.Args[1] == "check" {
		err = check("http://" + address)
	} else {
		err = serve(address)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) error {
	greeting := os.Getenv("greeting")
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(page)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Println(r.Method, r.URL.Path)
		fmt.Fprintf(w, "%s\n%s", greeting, text)
	})
	fmt.Printf("the shop is open: %s\n", greeting)
	server := http.Server{Addr: address, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

func check(url string) error {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	fmt.Println(answer.Status)
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}
