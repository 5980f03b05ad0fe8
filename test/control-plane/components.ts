/** One program that the tests need: how the envtest convention calls it, and where its source is. */
export interface ComponentSource {
  /** File name in a `KUBEBUILDER_ASSETS` directory and in the cache. */
  readonly executable: string;
  /** Go package, as written for `go build` inside this directory, or inside `module`. */
  readonly goPackage: string;
  /** Directory below this one that has a go.mod of its own: what it needs does not go with what Kubernetes needs. */
  readonly module?: string;
  /** What a person waits for on two cores when nothing is cached; only ever printed. */
  readonly coldBuild: string;
}

const sources = {
  etcd: { executable: 'etcd', goPackage: 'go.etcd.io/etcd/server/v3', coldBuild: '1 min' },
  kubeApiserver: {
    executable: 'kube-apiserver',
    goPackage: 'k8s.io/kubernetes/cmd/kube-apiserver',
    coldBuild: '4 min',
  },
  kubeControllerManager: {
    executable: 'kube-controller-manager',
    goPackage: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    coldBuild: '1 min',
  },
  kubeScheduler: { executable: 'kube-scheduler', goPackage: 'k8s.io/kubernetes/cmd/kube-scheduler', coldBuild: '30 s' },
  kubectl: { executable: 'kubectl', goPackage: 'k8s.io/kubernetes/cmd/kubectl', coldBuild: '30 s' },
  oracle: { executable: 'oracle', goPackage: './oracle', coldBuild: '20 s' },
  tokenVerifier: { executable: 'token-verifier', goPackage: '.', module: 'token-verifier', coldBuild: '30 s' },
} as const satisfies Record<string, ComponentSource>;

/** A program of the test control plane. */
export type Component = keyof typeof sources;

/** Every component and where it comes from. */
export const COMPONENTS: Readonly<Record<Component, ComponentSource>> = sources;

/** All component names, in the order in which they are built. */
export const ALL_COMPONENTS: readonly Component[] = [
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
  'kubeScheduler',
  'kubectl',
  'oracle',
  'tokenVerifier',
];
