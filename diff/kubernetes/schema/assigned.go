package schema

// assigned returns fields that the server or one of its controllers sets to an unpredictable
// value if they are omitted. Sources: pkg/registry/core/service/storage/alloc.go,
// pkg/registry/batch/job/strategy.go, pkg/controller/volume/persistentvolume, pkg/scheduler,
// plugin/pkg/admission/storage/storageclass/setdefault of Kubernetes v1.36.
func assigned() [][2]string {
	return [][2]string{
		{"core.v1.ServiceSpec", "clusterIP"},
		{"core.v1.ServiceSpec", "clusterIPs"},
		{"core.v1.ServiceSpec", "ipFamilies"},
		{"core.v1.ServiceSpec", "healthCheckNodePort"},
		{"core.v1.ServicePort", "nodePort"},
		{"core.v1.PersistentVolumeClaim", "spec.volumeName"},
		{"core.v1.PersistentVolumeClaim", "spec.storageClassName"},
		{"core.v1.PersistentVolumeSpec", "claimRef"},
		{"core.v1.Pod", "spec.nodeName"},
		{"core.v1.NamespaceSpec", "finalizers"},
		{"core.v1.ServiceAccount", "secrets"},
		{"batch.v1.Job", "spec.selector"},
	}
}

// addAssigned marks those fields and returns the paths that do not exist,
// which a test requires to be none.
func addAssigned(d *decoded) (missing []string) {
	for _, a := range assigned() {
		if !d.change(a[0], a[1], func(t *Type) { t.assigned = true }) {
			missing = append(missing, a[0]+"."+a[1])
		}
	}
	return missing
}

// Assigned reports whether the server or one of its controllers chooses the value
// of the field if it is omitted: a Service's clusterIP, a bound claim's volumeName.
func (t *Type) Assigned() bool { return t != nil && t.assigned }
