package cloudtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// FetchCredentials requests credentials from the endpoint that a container of AWS has, as the SDKs do. It returns the
// status and the JSON object of the response.
func FetchCredentials(ctx context.Context, endpoint, token string) (status int, body map[string]string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return 0, nil, fmt.Errorf("%s has the body %q: %w", response.Status, raw, err)
	}
	return response.StatusCode, body, nil
}
