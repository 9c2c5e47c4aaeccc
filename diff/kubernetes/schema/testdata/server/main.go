// Command server makes ../defaulted.json anew: it reads the objects that were sent from the old file on its input, and writes them together
// with what the API server's own defaulting and conversion make of them. It is a module of its own, since it links Kubernetes; run it after a
// change of the release, here and in go.mod:
//
//	GOFLAGS=-mod=mod GOWORK=off go run . <../defaulted.json >new && mv new ../defaulted.json
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

type pair struct {
	Sent json.RawMessage `json:"sent"`
	Made json.RawMessage `json:"made"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(r io.Reader, w io.Writer) error {
	var pairs []pair
	if err := json.NewDecoder(r).Decode(&pairs); err != nil {
		return err
	}
	for i := range pairs {
		made, err := defaulted(pairs[i].Sent)
		if err != nil {
			return fmt.Errorf("object %d: %w", i, err)
		}
		line, err := json.Marshal(pair{pairs[i].Sent, made})
		if err != nil {
			return err
		}
		before := ",\n"
		if i == 0 {
			before = "[\n"
		}
		fmt.Fprintf(w, "%s%s", before, line)
	}
	_, err := fmt.Fprintln(w, "\n]")
	return err
}

// defaulted is the object as the server would give it back in the version it was sent in.
func defaulted(sent []byte) ([]byte, error) {
	var meta runtime.TypeMeta
	if err := json.Unmarshal(sent, &meta); err != nil {
		return nil, err
	}
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), sent)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(legacyscheme.Codecs.LegacyCodec(meta.GroupVersionKind().GroupVersion()), object)
}
