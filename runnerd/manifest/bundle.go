package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// A plan bundle of a manifest is a packed tree, sealed to the install key:
//
//	bundle.json    what the fields of note say
//	objects.json   the objects as they are applied, in the order of the manifest
//	report.json    the masked report, to say what moved when it is made again and differs
const (
	bundleFormat = 1
	noteName     = "bundle.json"
	objectsName  = "objects.json"
	reportName   = "report.json"
)

// note is bundle.json. It holds secrets.
type note struct {
	Format       int       `json:"format"`
	Basis        api.Basis `json:"basis"`
	ReportDigest string    `json:"report_digest"`
	Destroy      bool      `json:"destroy"`
	// Inventory is what the component had when the plan was made.
	Inventory []api.ObjectRef `json:"inventory"`
	// Secrets are the texts that the report was masked with.
	Secrets []string `json:"secrets"`
}

// saved is an opened plan bundle.
type saved struct {
	note    note
	objects []*wanted
	report  []byte
}

// savedObject is one object in objects.json.
type savedObject struct {
	Place  string          `json:"place"`
	Object json.RawMessage `json:"object"`
}

// seal packs the bundle and seals it.
func (b saved) seal(context seal.Context, to seal.Recipient) (artifact.Artifact, error) {
	noted, err := json.Marshal(b.note)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	list := make([]savedObject, len(b.objects))
	for i, w := range b.objects {
		list[i].Place = w.place
		if list[i].Object, err = json.Marshal(w.Object); err != nil {
			return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
		}
	}
	objects, err := json.Marshal(list)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	return bundle.Seal([]artifact.File{
		{Path: noteName, Content: noted}, {Path: objectsName, Content: objects}, {Path: reportName, Content: b.report},
	}, context, to)
}

// openBundle reads what seal made.
func openBundle(packed artifact.Artifact, context seal.Context, key seal.Identity) (saved, error) {
	files, err := bundle.Open(packed, context, key)
	if err != nil {
		return saved{}, err
	}
	var made saved
	for _, file := range files {
		switch file.Path {
		case noteName:
			err = json.Unmarshal(file.Content, &made.note)
		case objectsName:
			made.objects, err = savedObjects(file.Content)
		case reportName:
			made.report = file.Content
		default:
			err = errors.New("there is a file in it that nobody expects")
		}
		if err != nil {
			return saved{}, fmt.Errorf("read the plan bundle: %w; plan again", err)
		}
	}
	if made.note.Format != bundleFormat || made.report == nil {
		return saved{}, fmt.Errorf("the plan bundle is of format %d, this runner reads %d; plan again", made.note.Format, bundleFormat)
	}
	return made, nil
}

func savedObjects(content []byte) ([]*wanted, error) {
	var list []savedObject
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, err
	}
	made := make([]*wanted, len(list))
	for i, each := range list {
		u := &unstructured.Unstructured{}
		// Whole numbers stay whole numbers.
		if err := utiljson.Unmarshal(each.Object, &u.Object); err != nil {
			return nil, err
		}
		made[i] = &wanted{object: object{u, each.Place}, ref: cluster.Ref(u)}
	}
	return made, nil
}

// pullBundle fetches and opens the bundle of an apply, and makes its secrets known to the redactor.
func pullBundle(ctx context.Context, env *job.Env) (saved, *values.Secrets, error) {
	packed, err := env.Install.Pull(ctx, env.Spec.Apply.Bundle)
	if err != nil {
		return saved{}, nil, err
	}
	opened, err := openBundle(packed, bundle.ContextOf(env.Spec.Apply.Deploy), env.Key)
	if err != nil {
		return saved{}, nil, err
	}
	return opened, values.NewSecrets(env.Redact, opened.note.Secrets...), nil
}
