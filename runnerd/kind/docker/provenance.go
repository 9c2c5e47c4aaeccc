package docker

import (
	"encoding/json"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/kind/image"
)

// The types of a provenance. Sources: in-toto/attestation, spec/v1/statement.md; slsa.dev/spec/v1.0/provenance.
const (
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/nuon-toolkit/nuon/docker_build/v1"
	builderID      = "https://github.com/nuon-toolkit/nuon/runnerd"
)

// provenance returns from what the image with a digest was built: the context, the Dockerfile and the parameters. It
// has no time and no version of the builder, so that the same context results in the same artifact.
func (w *workspace) provenance(digest string) image.Attestation {
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
	statement, err := json.Marshal(map[string]any{
		"_type": statementType, "predicateType": provenanceType,
		"subject": []any{map[string]any{"name": w.spec.Component, "digest": digests(digest)}},
		"predicate": map[string]any{
			"buildDefinition": map[string]any{"buildType": buildType, "externalParameters": parameters,
				"resolvedDependencies": []any{map[string]any{"name": "context", "digest": digests(w.spec.Source.Digest)}}},
			"runDetails": map[string]any{"builder": map[string]any{"id": builderID}},
		},
	})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return image.Attestation{PredicateType: provenanceType, Statement: statement}
}

// digests returns a digest as in-toto writes it, by algorithm.
func digests(digest string) map[string]string {
	algorithm, hash, _ := strings.Cut(digest, ":")
	return map[string]string{algorithm: hash}
}
