package image

import (
	"maps"
	"slices"
)

// InObject returns the images that a Kubernetes object names, in the order of the object's keys: each
// text with the key image, in pods and in custom resources, and the references of image volumes.
// ConfigMaps and Secrets name none, because their texts are data.
func InObject(object any) []string {
	var found []string
	switch v := object.(type) {
	case map[string]any:
		if v["kind"] == "ConfigMap" || v["kind"] == "Secret" {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, isText := v[key].(string)
			volume, isVolume := v[key].(map[string]any)
			switch {
			case key == "image" && isText:
				if text != "" {
					found = append(found, text)
				}
			case key == "image" && isVolume && volume["reference"] != nil:
				if reference, is := volume["reference"].(string); is {
					found = append(found, reference)
				}
			default:
				found = append(found, InObject(v[key])...)
			}
		}
	case []any:
		for _, item := range v {
			found = append(found, InObject(item)...)
		}
	}
	return found
}
