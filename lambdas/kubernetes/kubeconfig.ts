import type { LoadedKubeconfig } from './kubeconfig-document.ts';
import type { LocalKubeconfigOptions } from './local-kubeconfig.ts';
import { loadSecretKubeconfig } from './secret-kubeconfig.ts';

export { KubeconfigError, type LoadedKubeconfig } from './kubeconfig-document.ts';

/** Who wrote the kubeconfig: somebody else (`secret`), or the person who runs the command (`file`). */
export type KubeconfigSource =
  | { readonly origin: 'secret'; readonly context?: string }
  | ({ readonly origin: 'file' } & LocalKubeconfigOptions);

/**
 * Loads a kubeconfig by the rules for where it comes from: {@link loadSecretKubeconfig} or `loadLocalKubeconfig`.
 *
 * A function that only ever loads secrets imports {@link loadSecretKubeconfig} itself: a bundle of this module carries
 * @kubernetes/client-node, which the other origin needs.
 *
 * @throws KubeconfigError with all problems at once.
 */
export async function loadKubeconfig(text: string, source: KubeconfigSource): Promise<LoadedKubeconfig> {
  if (source.origin === 'secret') return loadSecretKubeconfig(text, source);
  const { loadLocalKubeconfig } = await import('./local-kubeconfig.ts');
  return loadLocalKubeconfig(text, source);
}
