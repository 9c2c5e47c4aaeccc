package apiclient_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

func refusal(status int, contentType, body string) error {
	return apiclient.CheckResponse("take the job",
		&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}}, []byte(body))
}

func TestRefusal(t *testing.T) {
	const stranger = "; this is not a response of a runner API: check proxies between the runner and it, and --url"
	for name, test := range map[string]struct {
		err     error
		text    string
		passing bool
	}{
		"problem": {
			refusal(409, "application/problem+json",
				`{"title":"the offer has expired.","code":"offer_gone","detail":"ask for another","status":409,"type":""}`),
			"take the job: the offer has expired (HTTP 409, offer_gone); ask for another", false,
		},
		"no problem": {refusal(502, "text/html", "<html>"), "take the job: Bad Gateway (HTTP 502)" + stranger, true},
		"broken json": {refusal(500, "application/json", "{"),
			"take the job: Internal Server Error (HTTP 500)" + stranger, true},
		"too many": {refusal(429, "", ""), "take the job: Too Many Requests (HTTP 429)" + stranger, true},
		"unknown key": {refusal(401, "application/problem+json", `{"code":"unknown_token"}`),
			"take the job: Unauthorized (HTTP 401, unknown_token)", false},
		"of a proxy": {refusal(404, "text/html", "<html>"), "take the job: Not Found (HTTP 404)" + stranger, true},
		"a page":     {refusal(200, "text/html", "<html>"), "take the job: OK (HTTP 200)" + stranger, true},
		"a redirect": {refusal(302, "", ""), "take the job: Found (HTTP 302)" + stranger, true},
		"of another generation": {
			refusal(426, "application/problem+json",
				`{"title":"this control plane speaks generation 2 of the API","code":"client_too_old","detail":"Update the client."}`),
			"take the job: this control plane speaks generation 2 of the API (HTTP 426, client_too_old); Update the client.",
			true,
		},
		"too much": {refusal(413, "text/html", "<html>"), "take the job: Request Entity Too Large (HTTP 413)", false},
	} {
		t.Run(name, func(t *testing.T) {
			if test.err == nil || test.err.Error() != test.text {
				t.Errorf("got %v", test.err)
			}
			if got := apiclient.AsResponseError(test.err).IsTemporary(); got != test.passing {
				t.Errorf("passing: %v", got)
			}
		})
	}
	for _, err := range []error{refusal(204, "", ""), refusal(202, "", ""), refusal(200, "application/json", "{}")} {
		if err != nil {
			t.Error(err)
		}
	}
	for status, final := range map[int]bool{200: true, 404: true, 426: true, 429: false, 502: false} {
		if got := apiclient.FinalByStatus(apiclient.AsResponseError(refusal(status, "text/html", ""))); got != final {
			t.Errorf("%d: final %v", status, got)
		}
	}
	if !apiclient.HasStatus(refusal(423, "", ""), 423) || apiclient.HasStatus(errors.New("x"), 423) {
		t.Error("HasStatus is wrong")
	}
}

func pace(log *bytes.Buffer) apiclient.RetryPolicy {
	return apiclient.RetryPolicy{First: time.Millisecond, Max: 4 * time.Millisecond,
		Connection: &apiclient.ConnectionLog{Log: slog.New(slog.NewTextHandler(log, nil)), URL: "http://x"}}
}

func TestPersistLogsOnlyTheChange(t *testing.T) {
	var log bytes.Buffer
	tries := 0
	err := apiclient.Retry(t.Context(), pace(&log), func(context.Context) error {
		if tries++; tries < 6 {
			return errors.New("connection refused")
		}
		return nil
	})
	if err != nil || tries != 6 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), "lost contact") ||
		!strings.Contains(log.String(), "is restored") {
		t.Errorf("logged:\n%s", log.String())
	}
}

func TestPersistEndsWithARefusal(t *testing.T) {
	var log bytes.Buffer
	tries := 0
	err := apiclient.Retry(t.Context(), pace(&log), func(context.Context) error {
		tries++
		return refusal(409, "application/problem+json", `{"code":"offer_gone"}`)
	})
	if !apiclient.HasStatus(err, 409) || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
	custom := pace(&log)
	custom.IsFinal = func(r *apiclient.ResponseError) bool { return r.Status == 404 }
	err = apiclient.Retry(t.Context(), custom, func(context.Context) error {
		if tries++; tries < 5 {
			return refusal(409, "application/problem+json", `{"code":"offer_gone"}`)
		}
		return refusal(404, "application/problem+json", `{"code":"not_found"}`)
	})
	if !apiclient.HasStatus(err, 404) || tries != 5 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if err := apiclient.Retry(t.Context(), pace(&log), func(context.Context) error {
		return apiclient.Permanent(
			errors.New("nonsense"))
	}); err == nil || err.Error() != "nonsense" {
		t.Errorf("permanent: %v", err)
	}
}

func TestPersistEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("the runner stops")
	err := apiclient.Retry(ctx, apiclient.RetryPolicy{First: time.Hour, Max: time.Hour}, func(context.Context) error {
		stop(why)
		return errors.New("connection refused")
	})
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestClientSendsItsTokenAndFollowsNoRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("sent %q", r.Header.Get("Authorization"))
		}
		if got := r.Header.Get(version.HeaderAPI); got != strconv.Itoa(version.API) {
			t.Errorf("says that it speaks generation %q", got)
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	client, err := apiclient.NewClient(server.URL, apiclient.StaticToken(seal.NewSecret([]byte("key"))), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.GetSpecWithResponse(t.Context(), "job", 1)
	if err != nil || answer.StatusCode() != http.StatusTemporaryRedirect {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"", "host:1", "ftp://host", "://"} {
		if _, err := apiclient.NewClient(bad, apiclient.StaticToken(seal.Secret{}), 0); err == nil {
			t.Errorf("took %q", bad)
		}
	}
}
