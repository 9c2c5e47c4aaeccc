package middleware_test

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
)

// TestListenBoundsConnections: accepted connections inherit the listener's option.
func TestListenBoundsConnections(t *testing.T) {
	listener, err := middleware.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	taken, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	raw, err := taken.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (value int) {
		var get error
		if err := raw.Control(func(fd uintptr) { value, get = unix.GetsockoptInt(int(fd), level, name) }); err != nil ||
			get != nil {
			t.Fatal(err, get)
		}
		return value
	}
	if got := time.Duration(option(unix.IPPROTO_TCP,
		unix.TCP_USER_TIMEOUT)) * time.Millisecond; got != middleware.LostAfter {
		t.Errorf("what is not taken is given up after %s, want %s", got, middleware.LostAfter)
	}
	idle, each := option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE), option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL)
	count := option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	if asked := option(unix.SOL_SOCKET, unix.SO_KEEPALIVE); asked == 0 ||
		time.Duration(idle+count*each)*time.Second > middleware.LostAfter {
		t.Errorf("a silent one is asked after %d s, then %d times each %d s: longer than %s", idle, count, each,
			middleware.LostAfter)
	}
}
