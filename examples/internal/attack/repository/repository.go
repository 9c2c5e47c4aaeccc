// Package repository is a hostile git server. A vendor's control plane watches a repository there,
// and the server answers with packs that inflate without end, with endless lists of references, and
// with redirects to places that only the control plane can reach.
//
// Its attacks are judged by the peak memory of the control plane, by requests that arrived at
// forbidden places, and by whether another repository is still observed.
package repository

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/world"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/proc"
	"github.com/nuon-toolkit/nuon/pkg/gitpack/packtest"
)

// maxMemory is the limit for a control plane under attack, in bytes. Without bounds, one pack bomb
// took 7.4 GB.
const maxMemory = 1 << 30

// Server is the hostile git server.
type Server struct {
	http        *httptest.Server
	certificate string // path of the certificate
	// pack and refs are the current answers; redirect, if set, is the target of redirects.
	pack, refs atomic.Pointer[[]byte]
	redirect   atomic.Pointer[string]
	// elsewhere counts the requests that arrived at the target of a redirect.
	elsewhere atomic.Int64
	// asked counts its requests.
	asked atomic.Int64
	inner *httptest.Server
}

const commit = "1111111111111111111111111111111111111111"

// NewServer starts a server, and writes its certificate, which a control plane must trust, to dir.
func NewServer(dir string) (*Server, error) {
	s := &Server{certificate: filepath.Join(dir, "ca.pem")}
	s.inner = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.elsewhere.Add(1) }))
	s.http = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	return s, os.WriteFile(s.certificate, certificate, 0o644) //nolint:gosec // a certificate is public
}

// Close stops it.
func (s *Server) Close() { s.http.Close(); s.inner.Close() }

// Start starts a control plane in the directory of the certificate. It watches an honest
// repository, trusts the hostile server's certificate and may connect to it. The caller must call
// Stop on the result, also after an error.
func Start(ctx context.Context, s *Server, bin, dir string) (*fleet.Fleet, error) {
	f, err := fleet.Start(ctx, fleet.Options{
		Bin: bin, Dir: dir, Serve: []string{"--allow-private-remotes"}, Env: []string{"SSL_CERT_FILE=" + s.certificate},
	})
	if err != nil {
		return f, err
	}
	honest, err := f.NewRepository(ctx, "honest", world.App)
	if err != nil {
		return f, err
	}
	if _, err := f.Nuon(ctx, "apps", "create", "honest", "--repo", honest.URL, "--branch", "main", "--directory",
		"app"); err != nil {
		return f, err
	}
	_, err = f.Nuon(ctx, "sync", "--app", "honest")
	return f, err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	if to := s.redirect.Load(); to != nil {
		http.Redirect(w, r, *to, http.StatusFound)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = w.Write(*s.refs.Load())
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	_, _ = io.WriteString(w, "0008NAK\n")
	_, _ = w.Write(*s.pack.Load())
}

// advertise returns a list of references with n branches beside main.
func advertise(n int) []byte {
	var out bytes.Buffer
	line := func(text string) { fmt.Fprintf(&out, "%04x%s", len(text)+4, text) }
	line("# service=git-upload-pack\n")
	out.WriteString("0000")
	line(commit + " HEAD\x00symref=HEAD:refs/heads/main shallow agent=git/2.39\n")
	for i := range n {
		line(fmt.Sprintf("%s refs/heads/b%d\n", commit, i))
	}
	line(commit + " refs/heads/main\n")
	out.WriteString("0000")
	return out.Bytes()
}

// hostile is the server with the control plane that it attacks.
type hostile struct {
	*Server
	fleet *fleet.Fleet
	apps  int
}

// Attacks returns the attacks of the server on a control plane that allows private remotes and
// trusts its certificate.
func Attacks(s *Server, f *fleet.Fleet) []attack.Attack {
	h := &hostile{Server: s, fleet: f}
	var list []attack.Attack
	for _, each := range []struct {
		name string
		pack func(r *rand.Rand) []byte
	}{
		{"a blob that inflates to 256 MiB", func(*rand.Rand) []byte { return bomb(bombSize, zeros()) }},
		{"a blob that is larger than it says", func(*rand.Rand) []byte { return bomb(10, zeros()) }},
		{"deltas that copy without end", deltas},
		{"more objects than there are", func(*rand.Rand) []byte { return (&packtest.Pack{}).WithCount(1<<32 - 1) }},
		{"noise", func(r *rand.Rand) []byte {
			p := bomb(1<<16, packtest.Deflate(make([]byte, 1<<16)))
			for range 8 {
				p[r.IntN(len(p))] ^= byte(1 + r.IntN(255))
			}
			return p
		}},
	} {
		list = append(list, attack.Attack{Name: each.name, Try: attack.Judged(func(_ context.Context, r *rand.Rand) error {
			h.answer(advertise(0), each.pack(r))
			return nil
		}, h.judge)})
	}
	return append(list,
		attack.Attack{Name: "references without end", Try: attack.Judged(func(context.Context, *rand.Rand) error {
			h.answer(advertise(250_000), nil)
			return nil
		}, h.judge)},
		attack.Attack{Name: "a redirect to somewhere inside", Try: attack.Judged(func(_ context.Context, r *rand.Rand) error {
			targets := []string{s.inner.URL + "/x.git/info/refs", "http://169.254.169.254/latest/meta-data/",
				"file:///etc/passwd", "ssh://127.0.0.1/x"}
			h.redirect.Store(&targets[r.IntN(len(targets))])
			return nil
		}, h.judge)},
	)
}

// bombSize is several times the allowed size of one blob, in bytes.
const bombSize = 256 << 20

// zeros is a compressed blob of bombSize. It is compressed only once, which is slow with the race
// detector.
var zeros = sync.OnceValue(func() []byte { return packtest.Deflate(make([]byte, bombSize)) })

// bomb returns a pack with one blob and a declared size.
func bomb(declared int64, deflated []byte) []byte {
	p := &packtest.Pack{}
	p.AddDeflated(plumbing.BlobObject, declared, nil, deflated)
	return p.Bytes()
}

// deltas returns a pack with chains of deltas, each of which doubles its base.
func deltas(*rand.Rand) []byte {
	p := &packtest.Pack{}
	const first = 1 << 20
	at, size := p.Blob(make([]byte, first)), int64(first)
	for range 12 {
		next := p.Offset()
		p.OffsetDelta(at, packtest.Delta(size, 2*size, append(packtest.CopyAll(size), packtest.CopyAll(size)...)...))
		at, size = next, 2*size
	}
	return p.Bytes()
}

func (h *hostile) answer(refs, pack []byte) {
	h.redirect.Store(nil)
	h.refs.Store(&refs)
	h.pack.Store(&pack)
}

// judge makes the control plane fetch the current answers of the server, and reports the effects.
func (h *hostile) judge(ctx context.Context) error {
	h.apps++
	app := "hostile-" + strconv.Itoa(h.apps)
	if _, err := h.fleet.Nuon(ctx, "apps", "create", app, "--repo", h.http.URL+"/"+app+".git", "--branch",
		"main"); err != nil {
		return err
	}
	out, err := h.fleet.Nuon(ctx, "sync", "--app", app)
	if h.asked.Swap(0) == 0 {
		return fmt.Errorf("the control plane never asked the hostile server: %w", err)
	}
	if err == nil {
		return attack.Breached("the app was read: %s", out)
	}
	if strings.Contains(err.Error(), "root:") || strings.Contains(err.Error(), h.inner.URL) && h.elsewhere.Load() > 0 {
		return attack.Breached("the error tells what is inside: %v", err)
	}
	if n := h.elsewhere.Swap(0); n > 0 {
		return attack.Breached("%d requests went where the redirect led", n)
	}
	_, peak, err := proc.Memory(h.fleet.Replicas[0].PID())
	if err != nil {
		return err
	}
	if peak > maxMemory {
		return attack.Breached("the control plane used %d MiB", peak>>20)
	}
	if _, err := h.fleet.Nuon(ctx, "sync", "--app", "honest"); err != nil {
		return attack.Breached("another repository is not observed any more: %v", err)
	}
	return nil
}
