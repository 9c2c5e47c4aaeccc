package helm

import (
	"io"
	"log"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/klog/v2"

	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// quiet makes the SDK and its libraries print nothing: they write to the error output of the process, where nobody reads and values could show. It
// also names the author of what is written, for which the SDK has a variable.
var quiet = sync.OnceFunc(func() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	log.SetOutput(io.Discard)
	kube.ManagedFieldsManager = cluster.FieldManager
})
