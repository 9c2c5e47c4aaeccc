package gitpack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// OpenStream reads the branches and tags of a server over a stream to its git-upload-pack, such as
// the one that a command on an SSH connection has. The stream serves one Fetch. The caller closes
// it, and ends a call whose context ends by closing it.
func OpenStream(ctx context.Context, stream io.ReadWriteCloser) (*Remote, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	advertised := packp.NewAdvRefs()
	err := advertised.Decode(newResponseBudget("a list of branches and tags", maxRefsBytes).Limit(stream))
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return nil, transport.ErrEmptyRemoteRepository
	case errors.Is(err, packp.ErrEmptyInput):
		return nil, transport.ErrRepositoryNotFound
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	transport.FilterUnsupportedCapabilities(advertised.Capabilities)
	bodies := &boundedBodies{pack: newResponseBudget("an answer without a pack", maxPrefaceBytes)}
	return &Remote{Advertised: advertised, session: &streamSession{stream: stream, budget: bodies.pack},
		bodies: bodies}, nil
}

// streamSession implements the part of transport.UploadPackSession that a Remote uses, over a
// stream.
type streamSession struct {
	transport.UploadPackSession
	stream io.ReadWriteCloser
	budget *netguard.Budget
}

// UploadPack sends a request and reads the response up to its pack.
func (s *streamSession) UploadPack(
	ctx context.Context, request *packp.UploadPackRequest,
) (*packp.UploadPackResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := request.Validate(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err := errors.Join(request.UploadRequest.Encode(&text), request.UploadHaves.Encode(&text, false),
		pktline.NewEncoder(&text).Encodef("done\n"))
	if err != nil {
		return nil, fmt.Errorf("request a pack: %w", err)
	}
	// A server that refuses the object may end before it has read the whole request. Its answer
	// has the reason.
	_, sent := s.stream.Write(text.Bytes())
	response := packp.NewUploadPackResponse(request)
	if err := response.Decode(s.budget.Limit(s.stream)); err != nil {
		return nil, fmt.Errorf("request a pack: %w", errors.Join(err, sent))
	}
	return response, nil
}
