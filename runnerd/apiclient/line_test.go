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
		line := &apiclient.Line{Log: slog.New(slog.NewTextHandler(&log, nil)), URL: "http://x"}
		no := &apiclient.Refusal{Doing: "ask for work", Status: http.StatusUnauthorized, Code: "unknown_token"}
		for range 100 {
			line.Lost(no)
			line.Back()
		}
		time.Sleep(11 * time.Minute)
		line.Lost(no)
		if refused := strings.Count(log.String(), "the control plane refuses"); refused != 2 ||
			strings.Contains(log.String(), "contact") {
			t.Errorf("said %d times:\n%s", refused, log.String())
		}
	})
}

// TestALineIsLostAndBackOnce checks that lost and restored contact are each logged once,
// also when the restored contact is a rejection.
func TestALineIsLostAndBackOnce(t *testing.T) {
	var log strings.Builder
	line := &apiclient.Line{Log: slog.New(slog.NewTextHandler(&log, nil)), URL: "http://x"}
	for range 3 {
		line.Lost(errors.New("no route"))
		line.Lost(&apiclient.Refusal{Status: http.StatusServiceUnavailable, Code: "unavailable"})
	}
	line.Lost(&apiclient.Refusal{Status: http.StatusUnauthorized, Code: "unknown_token"})
	line.Back()
	if lost, back := strings.Count(log.String(), "lost contact"), strings.Count(log.String(), "is back"); lost != 1 || back != 1 {
		t.Errorf("lost %d times, back %d times:\n%s", lost, back, log.String())
	}
}
