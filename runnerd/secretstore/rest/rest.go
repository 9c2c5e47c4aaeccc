// Package rest calls the REST APIs of clouds' secret stores: with a token of the runner's identity, with retries while
// the cloud throttles, and within bounds. It contains nothing about one cloud.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
)

const (
	maxAttempts  = 6
	maxBody      = 1 << 20
	maxPause     = 20 * time.Second
	callTimeout  = 20 * time.Second
	maxErrorText = 300
)

// Client calls one API.
type Client struct {
	// Token returns a token. renew is set when the API has rejected the last one.
	Token func(ctx context.Context, renew bool) (string, error)
	// FirstPause is the pause after the first attempt that was throttled; it doubles.
	FirstPause time.Duration
}

// httpClient follows no redirects: a token goes only where it was meant for.
var httpClient = &http.Client{Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

// Error is an error of the API.
type Error struct {
	Status  int
	Code    string
	Message string
}

// Error returns the API's message.
func (e *Error) Error() string {
	text := e.Message
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + "…"
	}
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, text)
}

// Unwrap returns what the status means for a secret.
func (e *Error) Unwrap() error {
	switch e.Status {
	case http.StatusNotFound:
		return secretstore.ErrMissing
	case http.StatusForbidden:
		return secretstore.ErrNotPermitted
	}
	return nil
}

// Call sends a request with a JSON body and decodes the answer into answer; both may be nil.
func (c *Client) Call(ctx context.Context, method, address string, body, answer any) error {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return errors.New("encode the request")
		}
	}
	pauses, renew := backoff.Backoff{First: c.FirstPause, Max: maxPause}, false
	for attempt := 1; ; attempt++ {
		content, wait, err := c.try(ctx, method, address, encoded, renew)
		if err == nil {
			return decode(content, answer)
		}
		var found *Error
		if !errors.As(err, &found) || attempt == maxAttempts {
			return err
		}
		switch {
		case found.Status == http.StatusUnauthorized && !renew:
			renew = true
			continue
		case found.Status == http.StatusTooManyRequests, found.Status >= http.StatusInternalServerError:
		default:
			return err
		}
		if !backoff.Pause(ctx, min(max(pauses.Next(), wait), maxPause)) {
			return errors.Join(err, ctx.Err())
		}
	}
}

func decode(content []byte, answer any) error {
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return errors.New("the answer is not the JSON that was expected") // the error could quote a value
	}
	return nil
}

// try sends a request once. wait is how long the API asks to wait.
func (c *Client) try(ctx context.Context, method, address string, body []byte,
	renew bool) (content []byte, wait time.Duration, err error) {
	token, err := c.Token(ctx, renew)
	if err != nil {
		return nil, 0, fmt.Errorf("get a token of the runner's identity: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := httpClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err = io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return nil, 0, err
	}
	if answer.StatusCode/100 == 2 { //nolint:mnd // the class of success
		return content, 0, nil
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		wait = time.Duration(seconds) * time.Second
	}
	return nil, wait, errorOf(answer.StatusCode, content)
}

// errorOf reads an error, which Google and Azure send as {"error": {"code", "status", "message"}}.
func errorOf(status int, content []byte) error {
	var sent struct {
		Error struct {
			Code    json.RawMessage `json:"code"`
			Status  string          `json:"status"`
			Message string          `json:"message"`
		} `json:"error"`
	}
	made := &Error{Status: status, Code: http.StatusText(status)}
	if json.Unmarshal(content, &sent) == nil {
		made.Message = sent.Error.Message
		var code string
		switch {
		case sent.Error.Status != "":
			made.Code = sent.Error.Status
		case json.Unmarshal(sent.Error.Code, &code) == nil && code != "":
			made.Code = code
		}
	}
	return made
}
