package storetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// StatementCounter is a proxy to Postgres that counts statements.
type StatementCounter struct {
	// DSN connects to the database through the proxy.
	DSN string

	statements atomic.Int64
	before     atomic.Pointer[func(n int64)]
}

// Before calls f before each statement from now on, with the number that the statement will have.
// The statement waits until f has returned, so f must use another connection and may not wait for
// locks that the one through the proxy holds.
func (m *StatementCounter) Before(f func(n int64)) { m.before.Store(&f) }

// Statements returns the number of statements so far, including begin and commit.
func (m *StatementCounter) Statements() int64 { return m.statements.Load() }

// NewStatementCounter starts a proxy to a database. Close all connections through it before the test ends.
func NewStatementCounter(t testing.TB, dsn string) *StatementCounter {
	t.Helper()
	server, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &StatementCounter{DSN: fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=%s sslmode=disable",
		l.Addr().(*net.TCPAddr).Port, server.User, server.Password, server.Database)}
	network, address := pgconn.NetworkAddress(server.Host, server.Port)
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			busy.Go(func() { m.proxy(client, network, address) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); busy.Wait() })
	return m
}

// ping is the text of the query with which pgx checks a connection that has been idle for a second.
const ping = "-- ping\x00"

// proxy forwards one connection and counts its Bind and Query messages: one per execution of a
// prepared statement, and one per simple query (PostgreSQL's frontend/backend protocol 3.0). It does not
// count pings, because their number depends on the speed of the machine.
func (m *StatementCounter) proxy(client net.Conn, network, address string) {
	defer client.Close() //nolint:errcheck // the connection is done
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // the connection is done
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer back.Wait()
	defer server.Close()    //nolint:errcheck // ends the copy to the client
	head := make([]byte, 4) // the first message has no type
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		size := int64(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		var body []byte
		if size == int64(len(ping)) {
			body = make([]byte, size)
			if _, err := io.ReadFull(client, body); err != nil {
				return
			}
		}
		if len(head) == 5 && (head[0] == 'B' || head[0] == 'Q') && string(body) != ping {
			if f := m.before.Load(); f != nil {
				(*f)(m.statements.Load() + 1)
			}
			m.statements.Add(1)
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
		if _, err := io.CopyN(server, client, size-int64(len(body))); err != nil {
			return
		}
		head = make([]byte, 5)
	}
}
