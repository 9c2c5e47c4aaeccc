package docker

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/sbom"
)

// statement is what is attached to an image.
type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// attached returns what is attached to a manifest of an image, by type.
func (r *rig) attached(digest string) map[string]statement {
	r.t.Helper()
	to, err := r.vendor.Open(repository)
	r.must(err)
	subject, err := to.Manifest(r.t.Context(), digest)
	r.must(err)
	referrers, err := to.Referrers(r.t.Context(), subject, 10)
	r.must(err)
	made := map[string]statement{}
	for _, referrer := range referrers {
		raw, err := to.Manifest(r.t.Context(), referrer)
		r.must(err)
		var manifest struct {
			Layers []struct {
				Digest      string            `json:"digest"`
				Size        int64             `json:"size"`
				Annotations map[string]string `json:"annotations"`
			} `json:"layers"`
		}
		r.must(json.Unmarshal(raw.Content, &manifest))
		layer := manifest.Layers[0]
		content, err := to.Blob(r.t.Context(), artifact.Blob{Digest: layer.Digest, Size: layer.Size})
		r.must(err)
		var s statement
		r.must(json.Unmarshal(content, &s))
		if s.Type != "https://in-toto.io/Statement/v1" || len(s.Subject) != 1 ||
			"sha256:"+s.Subject[0].Digest["sha256"] != digest ||
			s.PredicateType != layer.Annotations["in-toto.io/predicate-type"] {
			r.t.Errorf("the statement on %s is %s", digest, content)
		}
		made[s.PredicateType] = s
	}
	if len(made) != len(referrers) {
		r.t.Errorf("%d manifests refer to %s, of %d types", len(referrers), digest, len(made))
	}
	return made
}

// provenance is the predicate of a provenance.
type provenance struct {
	BuildDefinition struct {
		ExternalParameters struct {
			BuildArgs  map[string]string `json:"build_args"`
			Dockerfile map[string]string `json:"dockerfile"`
		} `json:"externalParameters"`
		ResolvedDependencies []struct {
			Name   string            `json:"name"`
			Digest map[string]string `json:"digest"`
		} `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
}

// provenance returns the provenance of an image.
func (r *rig) provenance(listed image.Image) provenance {
	r.t.Helper()
	var made provenance
	r.must(json.Unmarshal(r.attached(listed.Digest)[provenanceType].Predicate, &made))
	return made
}

// software returns the names of the packages in the SBOM of a manifest.
func (r *rig) software(digest string) []string {
	r.t.Helper()
	var document struct {
		Packages []struct{ Name string }
	}
	r.must(json.Unmarshal(r.attached(digest)[sbom.PredicateType].Predicate, &document))
	var names []string
	for _, one := range document.Packages {
		names = append(names, one.Name)
	}
	return names
}

// TestBuildahProvenance: a provenance of SLSA refers to the image, and states from what it was built.
func TestBuildahProvenance(t *testing.T) {
	r := buildahRig(t)
	r.spec.BuildArgs = map[string]string{"VERSION": "2"}
	_, listed := r.mustBuild()
	built := r.provenance(listed).BuildDefinition
	if built.ExternalParameters.BuildArgs["VERSION"] != "2" ||
		"sha256:"+built.ExternalParameters.Dockerfile["sha256"] != sha256digest.Of([]byte(r.spec.Dockerfile)) ||
		len(built.ResolvedDependencies) != 1 || len(built.ResolvedDependencies[0].Digest["sha256"]) != 64 {
		t.Errorf("%+v", built)
	}
}

// TestBuildahSBOM: the SBOM of each platform lists what is in its image.
func TestBuildahSBOM(t *testing.T) {
	r := buildahRig(t)
	r.context["app/status"] = "Package: zlib1g\nStatus: install ok installed\nVersion: 1:1.3.1\nArchitecture: amd64\n"
	r.context["app/package.json"] = `{"name":"left-pad","version":"1.3.0"}`
	r.spec.Dockerfile = "FROM scratch\nCOPY package.json /srv/node_modules/left-pad/\n" +
		"COPY status /var/lib/dpkg/\n"
	r.spec.Platforms = []string{"linux/amd64", "linux/arm64"}
	_, listed := r.mustBuild()
	platforms := 0
	for _, m := range listed.Manifests {
		if len(m.Blobs) != 3 { // a config and two layers
			continue
		}
		platforms++
		names := r.software(m.Digest)
		if !slices.Equal(names, []string{"api", "zlib1g", "left-pad"}) {
			t.Errorf("the SBOM of %s lists %s", m.Digest, names)
		}
	}
	if platforms != 2 || !strings.Contains(r.log.String(), " packages") {
		t.Errorf("%d platforms\n%s", platforms, &r.log)
	}
}
