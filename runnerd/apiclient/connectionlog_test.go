package apiclient_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// TestAReplacedRunnersLineIsThere checks a runner whose key is rejected while the tokens of its
// attempts work, poll by poll and heartbeat by heartbeat. That is logged once, and again only
// when it lasts; contact is neither lost nor back.
func TestAReplacedRunnersLineIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		line := &apiclient.ConnectionLog{Log: slog.New(slog.NewTextHandler(&log, nil)), URL: "http://x"}
		no := &apiclient.ResponseError{Operation: "ask for work", Status: http.StatusUnauthorized, Code: "unknown_token"}
		for range 100 {
			line.Failed(no)
			line.Recovered()
		}
		time.Sleep(11 * time.Minute)
		line.Failed(no)
		if refused := strings.Count(log.String(), "the control plane rejects"); refused != 2 ||
			strings.Contains(log.String(), "contact") {
			t.Errorf("said %d times:\n%s", refused, log.String())
		}
	})
}

// TestALineIsLostAndBackOnce checks that lost and restored contact are each logged once,
// also when the restored contact is a rejection.
func TestALineIsLostAndBackOnce(t *testing.T) {
	var log strings.Builder
	line := &apiclient.ConnectionLog{Log: slog.New(slog.NewTextHandler(&log, nil)), URL: "http://x"}
	for range 3 {
		line.Failed(errors.New("no route"))
		line.Failed(&apiclient.ResponseError{Status: http.StatusServiceUnavailable, Code: "unavailable"})
	}
	line.Failed(&apiclient.ResponseError{Status: http.StatusUnauthorized, Code: "unknown_token"})
	line.Recovered()
	if lost, back := strings.Count(log.String(), "lost contact"), strings.Count(log.String(), "is restored"); lost != 1 ||
		back != 1 {
		t.Errorf("lost %d times, back %d times:\n%s", lost, back, log.String())
	}
}
