package docker

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/kind/image"
)

// minSecret is the length from which a secret is searched for: shorter ones occur by chance.
const minSecret = 8

// checkSecrets returns an error if a layer, or the config with its history, contains a secret of the
// build.
func checkSecrets(layout *image.Layout, secrets map[string]string) error {
	if len(secrets) == 0 {
		return nil
	}
	forms := map[string][][]byte{}
	for name, value := range secrets {
		if len(value) >= minSecret {
			forms[name] = formsOf(value)
		}
	}
	for _, b := range layout.Image().Blobs() {
		name, err := findSecret(layout, b, forms)
		if err != nil {
			return fmt.Errorf("search %s for secrets: %w", b.Digest, err)
		}
		if name != "" {
			return fmt.Errorf("the image contains the secret %s (in %s), so it is not pushed; use it only in "+
				"RUN --mount=type=secret,id=%s, and write it to no file", name, b.Digest, name)
		}
	}
	return nil
}

// formsOf returns a value as a file has it, and as JSON has it: with and without the escapes for HTML that builders
// written in Go use.
func formsOf(value string) [][]byte {
	made := [][]byte{[]byte(value)}
	for _, html := range []bool{true, false} {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(html)
		_ = encoder.Encode(value) // a text always encodes
		quoted := bytes.TrimSpace(text.Bytes())
		made = append(made, quoted[1:len(quoted)-1])
	}
	return slices.CompactFunc(made, bytes.Equal)
}

// findSecret returns the name of a secret in a blob, or "". secrets are the forms of each, by name.
func findSecret(layout *image.Layout, b artifact.Blob, secrets map[string][][]byte) (string, error) {
	content, err := openLayer(layout, b)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }()
	overlap := 0
	for _, forms := range secrets {
		for _, form := range forms {
			overlap = max(overlap, len(form)-1)
		}
	}
	names, window := slices.Sorted(maps.Keys(secrets)), make([]byte, 0, overlap+64<<10)
	for {
		n, err := io.ReadFull(content, window[len(window):cap(window)])
		window = window[:len(window)+n]
		for _, name := range names {
			if slices.ContainsFunc(secrets[name], func(form []byte) bool { return bytes.Contains(window, form) }) {
				return name, nil
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		kept := copy(window, window[len(window)-min(overlap, len(window)):])
		window = window[:kept]
	}
}

// opened is a blob without compression.
type opened struct {
	io.Reader
	close func() error
}

// Close closes the blob.
func (o opened) Close() error { return o.close() }

// openLayer opens a layer, or another blob of the image, without its compression.
func openLayer(layout *image.Layout, layer artifact.Blob) (io.ReadCloser, error) {
	raw, err := layout.Open(layer)
	if err != nil {
		return nil, err
	}
	content, done, err := decompress(raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return opened{content, func() error { done(); return raw.Close() }}, nil
}

// decompress returns the content of a layer, which may be compressed.
func decompress(raw io.Reader) (content io.Reader, done func(), err error) {
	buffered := bufio.NewReader(raw)
	start, _ := buffered.Peek(4) // shorter content is not compressed
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		content, err = gzip.NewReader(buffered)
		return content, func() {}, err
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		reader, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return reader, reader.Close, nil
	}
	return buffered, func() {}, nil
}
