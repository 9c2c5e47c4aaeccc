package helmsdk

import (
	"io"
	"log"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/klog/v2"

	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// silenceSDK disables the output of the SDK and its libraries: they write to the standard
// error of the process, where values could appear. It also sets the field manager,
// for which the SDK has a global variable.
var silenceSDK = sync.OnceFunc(func() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	log.SetOutput(io.Discard)
	kube.ManagedFieldsManager = cluster.FieldManager
})
