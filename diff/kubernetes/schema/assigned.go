package schema

// assigned are fields that the server or one of its controllers fills with something that nobody could know before, where they are left
// out. Sources: pkg/registry/core/service/storage/alloc.go, pkg/registry/batch/job/strategy.go, pkg/controller/volume/persistentvolume,
// pkg/scheduler, plugin/pkg/admission/storage/storageclass/setdefault of Kubernetes v1.36.
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

// addAssigned marks those fields and gives the paths that do not exist, which a test keeps empty.
func addAssigned(d *decoded) (missing []string) {
	for _, a := range assigned() {
		if !d.change(a[0], a[1], func(t *Type) { t.assigned = true }) {
			missing = append(missing, a[0]+"."+a[1])
		}
	}
	return missing
}

// Assigned says that the server or one of its controllers fills the field with a value of its own choice where it is left out: a Service's
// clusterIP, a bound claim's volumeName.
func (t *Type) Assigned() bool { return t != nil && t.assigned }
