package control_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nuon-toolkit/nuon/reconciler/api/quota"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestAListAsksAFixedNumberOfQueries, however many rows it shows: each list of the document, with few rows and with many.
func TestAListAsksAFixedNumberOfQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.metered()
	w.one.fill()
	w.one.fillStates()
	w.manyRows(2)
	w.connectApps()
	viewer := w.one.token["admin"]
	w.status(viewer) // from now on its use is noted
	count := func(path string) (int64, int) {
		before := asked.Load()
		got := w.call(viewer, http.MethodGet, path, nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Status, got.Body)
		}
		return asked.Load() - before, items(got)
	}
	few, rows := map[string]int64{}, map[string]int{}
	var lists []string
	for _, op := range operations(t) {
		if !op.has("limit") {
			continue
		}
		path := op.Path
		for _, p := range op.inPath() {
			path = strings.Replace(path, "{"+p.Name+"}", own(w.one, p), 1)
		}
		if op.ID == "listBuilds" {
			path += "?app=" + w.one.ids["app"]
		}
		lists = append(lists, path)
		few[path], rows[path] = count(path)
	}
	if len(lists) < 9 {
		t.Fatalf("only the lists %v are looked at", lists)
	}
	w.manyRows(60)
	w.connectApps()
	for _, path := range lists {
		many, n := count(path)
		if many != few[path] {
			t.Errorf("%s asked %d queries for %d rows, and %d for %d", path, few[path], rows[path], many, n)
		}
		if many == 0 || n < rows[path] {
			t.Errorf("%s: %d queries, %d rows", path, many, n)
		}
	}
}

// connectApps has every app read from the seeded repository, and at a version; and all installs are of one app. (What is read of an app
// to tell how its installs stand is read once for each app.)
func (w *world) connectApps() {
	w.exec("update installs set app_id = $1, name = id where org_id = $2 and name = 'more'", w.one.ids["app"], w.one.org.ID)
	w.exec("update apps set watch_id = $1, version_id = coalesce(version_id, $2) where org_id = $3", w.one.ids["watch"], w.one.ids["version"], w.one.org.ID)
}

// metered has the control API reach Postgres through a proxy that counts the statements which pass.
func (w *world) metered() *atomic.Int64 {
	w.Helper()
	server, err := pgx.ParseConfig(w.dsn)
	must(w, err)
	l, err := (&net.ListenConfig{}).Listen(w.Context(), "tcp", "127.0.0.1:0")
	must(w, err)
	var statements atomic.Int64
	var busy sync.WaitGroup
	network, address := pgconn.NetworkAddress(server.Host, server.Port)
	busy.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			busy.Go(func() { pass(client, network, address, &statements) })
		}
	})
	w.Cleanup(func() { _ = l.Close(); busy.Wait() })
	w.store.Close()
	w.store, err = store.Open(w.Context(), fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=%s sslmode=disable",
		l.Addr().(*net.TCPAddr).Port, server.User, server.Password, server.Database))
	must(w, err)
	w.Cleanup(w.store.Close) // before the proxy goes
	w.serve(quota.Options{Rate: 10_000})
	return &statements
}

// pass carries one connection, and counts its Bind messages: one for each time that a prepared statement is run (PostgreSQL's
// frontend/backend protocol 3.0).
func pass(client net.Conn, network, address string, statements *atomic.Int64) {
	defer client.Close() //nolint:errcheck // it is over
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // it is over
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer back.Wait()
	defer server.Close()    //nolint:errcheck // ends the way back
	head := make([]byte, 4) // the first message has no type
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		size := int64(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		if head[0] == 'B' && len(head) == 5 {
			statements.Add(1)
		}
		if _, err := server.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(server, client, size); err != nil {
			return
		}
		head = make([]byte, 5)
	}
}
