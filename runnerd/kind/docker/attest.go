package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/kind/image"
	"github.com/nuon-toolkit/nuon/runnerd/sbom"
)

// The types of a provenance. Sources: in-toto/attestation, spec/v1/statement.md; slsa.dev/spec/v1.0/provenance.
const (
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/nuon-toolkit/nuon/docker_build/v1"
	builderID      = "https://github.com/nuon-toolkit/nuon/runnerd"
)

// attest returns the statements that belong to an image, as the other builders make them: from what the whole of it
// was built, and which software is in each of its parts. They have no time and no version of the builder, so that the
// same context results in the same artifact.
func (w *workspace) attest(ctx context.Context, layout *image.Layout, subject image.Subject) (
	[]image.Attestation, error) {
	var made []image.Attestation
	if subject.Whole {
		made = append(made, w.statement(subject, provenanceType, w.provenance()))
	}
	if len(subject.Layers) > 0 {
		software, err := w.software(ctx, layout, subject)
		if err != nil {
			return nil, fmt.Errorf("list the software of the image: %w", err)
		}
		made = append(made, w.statement(subject, sbom.PredicateType, json.RawMessage(software)))
	}
	return made, nil
}

// statement returns a statement about a subject.
func (w *workspace) statement(subject image.Subject, predicateType string, predicate any) image.Attestation {
	statement, err := json.Marshal(map[string]any{
		"_type": statementType, "predicateType": predicateType, "predicate": predicate,
		"subject": []any{map[string]any{"name": w.spec.Component, "digest": digests(subject.Digest)}},
	})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return image.Attestation{PredicateType: predicateType, Statement: statement}
}

// provenance returns from what the image was built: the context, the images that were pulled, the Dockerfile and the
// parameters.
func (w *workspace) provenance() any {
	spec := w.spec.Docker
	parameters := map[string]any{"directory": w.spec.Directory,
		"dockerfile": digests(sha256digest.Of([]byte(spec.Dockerfile)))}
	if spec.Target != "" {
		parameters["target"] = spec.Target
	}
	if len(spec.BuildArgs) > 0 {
		parameters["build_args"] = spec.BuildArgs
	}
	if len(spec.Platforms) > 0 {
		parameters["platforms"] = spec.Platforms
	}
	dependencies := []any{map[string]any{"name": "context", "digest": digests(w.spec.Source.Digest)}}
	for _, from := range w.bases {
		dependencies = append(dependencies, map[string]any{"name": from.name, "digest": digests(from.digest)})
	}
	return map[string]any{
		"buildDefinition": map[string]any{"buildType": buildType, "externalParameters": parameters,
			"resolvedDependencies": dependencies},
		"runDetails": map[string]any{"builder": map[string]any{"id": builderID}},
	}
}

// software returns the SBOM of a part of the image.
func (w *workspace) software(ctx context.Context, layout *image.Layout, subject image.Subject) ([]byte, error) {
	inventory := sbom.NewInventory(w.dir)
	for _, layer := range subject.Layers {
		if err := inventory.AddLayer(ctx, layer.Digest, func() (io.ReadCloser, error) {
			return openLayer(layout, layer)
		}); err != nil {
			return nil, fmt.Errorf("layer %s: %w", layer.Digest, err)
		}
	}
	document, err := inventory.Document(w.spec.Component, subject.Digest)
	if err != nil {
		return nil, err
	}
	w.env.Log.Info("listed the software of %s: %d packages", subject.Digest, document.Packages)
	for _, what := range document.Unread {
		w.env.Log.Warn("the SBOM lacks the packages of %s", what)
	}
	return document.JSON, nil
}

// digests returns a digest as in-toto writes it, by algorithm.
func digests(digest string) map[string]string {
	algorithm, hash, _ := strings.Cut(digest, ":")
	return map[string]string{algorithm: hash}
}
