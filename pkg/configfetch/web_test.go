package configfetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

const limit = 10_000

// serve returns the URL of an https server, and a Fetcher that may connect to it.
func serve(t *testing.T, handler http.HandlerFunc) (string, *Fetcher) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server.URL, New(Options{AllowPrivate: true, Roots: rootsOf(server), Timeout: testtime.Limit})
}

func rootsOf(server *httptest.Server) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return roots
}

// refused fails unless err is an *Error with these words and without secrets from the reference.
func refused(t *testing.T, err error, words string) {
	t.Helper()
	var problem *Error
	if !errors.As(err, &problem) {
		t.Fatalf("got %v, want an *Error with %q", err, words)
	}
	if said := problem.Why + "; " + problem.Remedy; !strings.Contains(said, words) ||
		strings.Contains(said, "hunter2") || problem.Remedy == "" {
		t.Fatalf("got %q, want words with %q", said, words)
	}
}

// passes fails unless err is a temporary error.
func passes(t *testing.T, err error) {
	t.Helper()
	var problem *Error
	if !errors.As(err, &problem) || !problem.Temporary {
		t.Fatalf("%v: it may come right by itself", err)
	}
}

func TestWhatIsAsked(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1") // no server listens there
	}
	var asked *http.Request
	at, fetcher := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/second", http.StatusFound)
			return
		}
		asked = r
		fmt.Fprint(w, "text")
	})
	data, err := fetcher.Fetch(t.Context(), at+"/first?token=hunter2", limit)
	if err != nil || string(data) != "text" {
		t.Fatalf("got %q, %v", data, err)
	}
	if !strings.HasPrefix(asked.UserAgent(), "nuon/") {
		t.Errorf("the user agent is %q", asked.UserAgent())
	}
	for _, name := range []string{"Referer", "Cookie", "Authorization", "Accept-Encoding"} {
		if value := asked.Header.Get(name); value != "" {
			t.Errorf("%s: %s was sent", name, value)
		}
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		words  string
	}{
		"not there": {http.NotFound, "404 Not Found: there is no such file"},
		"not for us": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			"not everybody may read it"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}, "204"},
		"a part": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
		}, "206"},
		"away": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			"502 Bad Gateway; run `nuon sync` again"},
		"no text":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a\xff") }, "not UTF-8 text"},
		"a zero byte": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a\x00") }, "not UTF-8 text"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("a", limit+1))
		}, "larger than 10000 bytes"},
		"said too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
		}, "larger than 10000 bytes"},
		"endless":         {endless, "larger than 10000 bytes"},
		"a page":          {page("text/html; charset=utf-8", "\n<!DOCTYPE html><html>sign in"), "web page"},
		"endless headers": {endlessHeaders, ""},
		"unasked":         {encoded("br", "x"), "compressed as br"},
		"no gzip":         {encoded("gzip", "not gzip at all"), "gzip, which it is not"},
		"a bomb":          {bomb, "larger than 10000 bytes"},
		"endless nothing": {endlessNothing, "larger than 10000 bytes"},
		"broken off":      {brokenOff, "broke"},
	} {
		t.Run(name, func(t *testing.T) {
			at, fetcher := serve(t, c.answer)
			_, err := fetcher.Fetch(t.Context(), at+"/file?token=hunter2", limit)
			refused(t, err, c.words)
		})
	}
}

func page(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, text)
	}
}

func encoded(encoding, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		fmt.Fprint(w, text)
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, strings.Repeat("a", 1000)); err != nil {
			return
		}
	}
}

func endlessHeaders(w http.ResponseWriter, _ *http.Request) {
	for i := range 10_000 {
		w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 100))
	}
}

func bomb(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	out := gzip.NewWriter(w)
	for range 1000 {
		if _, err := out.Write(make([]byte, 1<<20)); err != nil || r.Context().Err() != nil {
			return
		}
	}
}

// endlessNothing sends an endless gzip stream that decompresses to nothing.
func endlessNothing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	var nothing bytes.Buffer
	_ = gzip.NewWriter(&nothing).Close()
	for r.Context().Err() == nil {
		if _, err := w.Write(nothing.Bytes()); err != nil {
			return
		}
	}
}

func brokenOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	fmt.Fprint(w, "half")
}

// A compressed file that is small enough to be received is decompressed only up to the size limit
// of a file.
func TestABombIsNotUnpacked(t *testing.T) {
	const grown = 8 << 20
	var bomb bytes.Buffer
	out := gzip.NewWriter(&bomb)
	_, _ = out.Write(make([]byte, grown))
	_ = out.Close()
	at, fetcher := serve(t, encoded("gzip", bomb.String()))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := fetcher.Fetch(t.Context(), at+"/x", limit)
	runtime.ReadMemStats(&after)
	refused(t, err, "larger than 10000 bytes")
	if took := after.TotalAlloc - before.TotalAlloc; took > grown {
		t.Errorf("%d bytes of memory were taken for a file of at most %d", took, limit)
	}
}

func TestAnswersThatAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			out := gzip.NewWriter(w)
			_, _ = io.WriteString(out, "packed")
			_ = out.Close()
		}, "packed"},
		"as large as may be": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("a", limit))
		}, strings.Repeat("a", limit)},
		"empty":                  {func(http.ResponseWriter, *http.Request) {}, ""},
		"text that is said HTML": {page("text/html", "kind: Policy\n"), "kind: Policy\n"},
		"HTML that is wanted":    {page("text/plain", "<html>"), "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			at, fetcher := serve(t, c.answer)
			if data, err := fetcher.Fetch(t.Context(), at+"/file", limit); err != nil || string(data) != c.want {
				t.Fatalf("got %.100q, %v", data, err)
			}
		})
	}
}

func TestAForgesPageIsNamed(t *testing.T) {
	response := &http.Response{
		Header:  http.Header{"Content-Type": {"text/html"}},
		Request: httptest.NewRequest(http.MethodGet, "https://github.com/o/r/blob/main/a/b.yaml", nil),
	}
	refused(t, checkPage(response, []byte("<!doctype html>")),
		"write https://raw.githubusercontent.com/o/r/main/a/b.yaml")
}

func TestRedirects(t *testing.T) {
	plainServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "plain")
	}))
	t.Cleanup(plainServer.Close)
	var at string
	at, fetcher := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch {
		case r.URL.Path == "/insecure":
			http.Redirect(w, r, plainServer.URL+"/x", http.StatusFound)
		case r.URL.Path == "/user":
			http.Redirect(w, r, strings.Replace(at, "https://", "https://ada:hunter2@", 1), http.StatusFound)
		case r.URL.Path == "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/nowhere":
			w.Header().Set("Location", "https://%zz/hunter2")
			w.WriteHeader(http.StatusFound)
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
				http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusMovedPermanently)
				return
			}
			fmt.Fprint(w, "there")
		}
	})
	if data, err := fetcher.Fetch(t.Context(), at+"/5", limit); err != nil || string(data) != "there" {
		t.Errorf("five redirects: got %q, %v", data, err)
	}
	for path, words := range map[string]string{
		"/6": "more than 5 times", "/insecure": "from https to http", "/user": "user name or a password",
		"/file": "from https to file", "/nowhere": "cannot be used",
	} {
		_, err := fetcher.Fetch(t.Context(), at+path, limit)
		refused(t, err, words)
	}
	toSecure := httptest.NewServer(http.RedirectHandler(at+"/0", http.StatusFound))
	t.Cleanup(toSecure.Close)
	if data, err := fetcher.Fetch(t.Context(), toSecure.URL+"/x", limit); err != nil || string(data) != "there" {
		t.Errorf("from http to https: got %q, %v", data, err)
	}
}

func TestPrivateAddressesAreNotDialled(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	plainServer := httptest.NewServer(server.Config.Handler)
	t.Cleanup(plainServer.Close)
	fetcher := New(Options{Roots: rootsOf(server)})
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, at := range []string{
		server.URL + "/x", plainServer.URL + "/x", "git::" + server.URL + "/o/r//x", "https://localhost:" + port + "/x",
		"https://[::ffff:127.0.0.1]:" + port + "/x",
		"http://169.254.169.254/latest/meta-data", "http://2130706433/x", "https://0.0.0.0:" + port + "/x",
		"http://[::1]/x", "http://[64:ff9b::7f00:1]/x",
	} {
		_, err := fetcher.Fetch(t.Context(), at, limit)
		if at == "http://2130706433/x" { // a number counts as a host name here, which does not exist
			refused(t, err, "")
			continue
		}
		refused(t, err, "its server ")
	}
	if n := asked.Load(); n != 0 {
		t.Fatalf("the server was asked %d times", n)
	}
}

// A name that resolves to a different machine at the second lookup is rejected by its second
// address.
func TestRebinding(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	var lookups atomic.Int64
	resolver := nameServer(func() netip.Addr {
		if lookups.Add(1) == 1 {
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.MustParseAddr("169.254.169.254")
	})
	fetcher := New(Options{AllowPrivate: true, Resolver: resolver, Timeout: testtime.Limit})
	_, err := fetcher.Fetch(t.Context(), "http://files.example.com:"+port+"/first", limit)
	refused(t, err, "files.example.com leads to an address that is none of the internet")
	if lookups.Load() != 2 {
		t.Fatalf("the name was looked up %d times", lookups.Load())
	}
}

// nameServer returns a resolver that resolves each name to the IPv4 address from answer, and to no
// IPv6 address.
func nameServer(answer func() netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = ours.Close() }()
			for answerOne(ours, answer) == nil {
			}
		}()
		return theirs, nil
	}}
}

// answerOne reads a question with a length prefix (RFC 1035, section 4.2.2) and answers it.
func answerOne(conn net.Conn, answer func() netip.Addr) error {
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return err
	}
	question := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, question); err != nil {
		return err
	}
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	reply := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[12:end+5]...)
	if kind == 1 {
		reply[7] = 1
		address := answer().As4()
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, address[:]...)
	}
	_, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}

func TestSlowServers(t *testing.T) {
	stay := func(r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // otherwise the response would end normally and could be read in its last moment
	}
	for name, answer := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { stay(r) },
		"in the answer": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "a")
			w.(http.Flusher).Flush()
			stay(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, fetcher := serve(t, answer)
			fetcher.options.Timeout = 300 * time.Millisecond
			for _, reference := range []string{at + "/x?token=hunter2", "git::" + at + "/o/r//x"} {
				_, err := fetcher.Fetch(t.Context(), reference, limit)
				refused(t, err, "did not come in time")
				passes(t, err)
			}
		})
	}
}

func TestASecondTry(t *testing.T) {
	for name, c := range map[string]struct {
		first http.HandlerFunc
		asked int64
		works bool
	}{
		"busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, 2, true},
		"hung up":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, true},
		"not there": {http.NotFound, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			at, fetcher := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					c.first(w, r)
					return
				}
				fmt.Fprint(w, "here")
			})
			_, err := fetcher.Fetch(t.Context(), at+"/x", limit)
			if (err == nil) != c.works || asked.Load() != c.asked {
				t.Fatalf("got %v after %d tries", err, asked.Load())
			}
		})
	}
}

func TestUnreachableServers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	fetcher := New(Options{AllowPrivate: true, Timeout: testtime.Limit})
	_, err = fetcher.Fetch(t.Context(), "https://"+closed+"/x?token=hunter2", limit)
	refused(t, err, "refuses connections")
	passes(t, err)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err = fetcher.Fetch(t.Context(), server.URL+"/x", limit)
	refused(t, err, "has a certificate that cannot be verified")
}

// A canceled context is not an error of the reference.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	at, fetcher := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})
	for _, fetch := range []func() ([]byte, error){
		func() ([]byte, error) { return fetcher.Fetch(ctx, at+"/x", limit) },
		func() ([]byte, error) { return fetcher.Load(ctx)(at+"/x", limit) },
	} {
		_, err := fetch()
		var problem *Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &problem) {
			t.Fatalf("got %v", err)
		}
	}
}
