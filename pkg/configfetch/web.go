package configfetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// readWeb fetches a file from a server.
func (f *Fetcher) readWeb(
	ctx context.Context, u *url.URL, limit int64, budget *netguard.Budget,
) (data []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, permanent("it is not a URL", "write it as https://host/path")
	}
	request.Header.Set("Accept", "text/plain, */*")
	request.Header.Set("User-Agent", "nuon/"+version.Number)
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // the close error does not matter: it was only read
	if response.StatusCode != http.StatusOK {
		return nil, explainStatus(response.StatusCode)
	}
	if response.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := decodeBody(response, limit, budget)
	if err != nil {
		return nil, err
	}
	if data, err = netguard.ReadAll(body, limit, tooLarge(limit)); err != nil {
		return nil, err
	}
	return data, checkPage(response, data)
}

// decodeBody returns a reader of the decompressed response. Requests ask for an uncompressed response,
// but some servers compress it anyway. Both the received bytes and the decompressed bytes are
// bounded, so that neither an endless nor an exploding response is read.
func decodeBody(response *http.Response, limit int64, budget *netguard.Budget) (io.Reader, error) {
	// Incompressible data grows slightly when it is compressed.
	body := netguard.NewBudget(limit+limit/8+1024, tooLarge(limit)).Limit(budget.Limit(response.Body))
	switch encoding := strings.ToLower(response.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		unzipped, err := gzip.NewReader(body)
		if errors.Is(err, gzip.ErrHeader) {
			return nil, permanent("the server calls its answer gzip, which it is not", localFileRemedy)
		}
		return unzipped, err
	default:
		return nil, permanent("the server sends it compressed as "+sanitize(encoding,
			40)+", which was not asked for", localFileRemedy)
	}
}

// checkPage rejects the HTML page that forges and logins show to people in place of the file.
func checkPage(response *http.Response, data []byte) error {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != "text/html" && kind != "application/xhtml+xml" {
		return nil //nolint:nilerr // a response without a content type is not an HTML page
	}
	start := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 512)]))
	if !bytes.HasPrefix(start, []byte("<!doctype html")) && !bytes.HasPrefix(start, []byte("<html")) {
		return nil
	}
	remedy := "write the address of the file itself (forges call it raw)"
	if owner, file, found := strings.Cut(response.Request.URL.EscapedPath(), "/blob/"); found &&
		response.Request.URL.Host == "github.com" {
		remedy = "write https://raw.githubusercontent.com" + sanitize(owner+"/"+file, 300)
	}
	return permanent("the answer is a web page", remedy)
}
