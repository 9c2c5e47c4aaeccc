package api

// String returns the usual name of a Kubernetes object: Deployment shop/web, Namespace shop.
func (o ObjectRef) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}
