package image

import (
	"maps"
	"slices"
)

// InObject returns the images that a Kubernetes object names, in the order of the object's keys: each
// text with the key image, in pods and in custom resources, and the references of image volumes.
// The data of ConfigMaps and Secrets names none, because it is texts for programs.
func InObject(object any) []string {
	var found []string
	switch v := object.(type) {
	case map[string]any:
		holdsTexts := v["kind"] == "ConfigMap" || v["kind"] == "Secret"
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch value := v[key].(type) {
			case string:
				if key == "image" && value != "" {
					found = append(found, value)
				}
			case map[string]any:
				if reference, _ := value["reference"].(string); key == "image" && reference != "" {
					found = append(found, reference)
				}
				if !holdsTexts || !slices.Contains(dataKeys, key) {
					found = append(found, InObject(value)...)
				}
			default:
				found = append(found, InObject(value)...)
			}
		}
	case []any:
		for _, item := range v {
			found = append(found, InObject(item)...)
		}
	}
	return found
}

// dataKeys are the keys of ConfigMaps and Secrets below which the texts are.
var dataKeys = []string{"binaryData", "data", "stringData"}
