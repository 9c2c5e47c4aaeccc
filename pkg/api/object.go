package api

// String is what people call a Kubernetes object: Deployment shop/web, Namespace shop.
func (o ObjectRef) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}
