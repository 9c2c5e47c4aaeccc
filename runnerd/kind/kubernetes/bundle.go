package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// planName is the one file that the plan bundle of a manifest has in addition to those of every
// bundle: the objects as they are applied, in the order of the manifest, and the inventory at
// the time of the plan.
const planName = "plan.json"

// savedPlan is the content of plan.json. It holds secrets.
type savedPlan struct {
	Objects   []savedObject   `json:"objects"`
	Inventory []api.ObjectRef `json:"inventory"`
}

// savedObject is one object of a plan.
type savedObject struct {
	Place  string          `json:"place"`
	Object json.RawMessage `json:"object"`
}

// save returns the files of a plan bundle.
func save(objects []*desired, inventory []api.ObjectRef) ([]artifact.File, error) {
	saved := savedPlan{Inventory: inventory, Objects: make([]savedObject, len(objects))}
	for i, w := range objects {
		encoded, err := json.Marshal(w.Object)
		if err != nil {
			return nil, fmt.Errorf("write the plan bundle: %w", err)
		}
		saved.Objects[i] = savedObject{Place: w.place, Object: encoded}
	}
	encoded, err := json.Marshal(saved)
	if err != nil {
		return nil, fmt.Errorf("write the plan bundle: %w", err)
	}
	return []artifact.File{{Path: planName, Content: encoded}}, nil
}

// load reads the files that save returned.
func load(files []artifact.File) ([]*desired, []api.ObjectRef, error) {
	if len(files) != 1 || files[0].Path != planName {
		return nil, nil, errors.New("the plan bundle does not hold the files of a manifest's plan; plan again")
	}
	var saved savedPlan
	if err := json.Unmarshal(files[0].Content, &saved); err != nil {
		return nil, nil, fmt.Errorf("read the plan bundle: %w; plan again", err)
	}
	objects := make([]*desired, len(saved.Objects))
	for i, each := range saved.Objects {
		u := &unstructured.Unstructured{}
		// This unmarshaler preserves whole numbers.
		if err := utiljson.Unmarshal(each.Object, &u.Object); err != nil {
			return nil, nil, fmt.Errorf("read the plan bundle: %w; plan again", err)
		}
		objects[i] = &desired{object: object{u, each.Place}, ref: cluster.RefOf(u)}
	}
	return objects, saved.Inventory, nil
}
