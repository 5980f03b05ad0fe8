import type { V1MutatingWebhookConfiguration, V1ValidatingWebhookConfiguration } from '@kubernetes/client-node';
import type { Use } from '../../contracts/observation.ts';
import { printable } from '../../printable.ts';
import { field, list, raw, text } from '../../resources/fields.ts';
import { keysOf } from '../../tables/keys.ts';
import { firstOf } from '../../words.ts';
import { caBundleSource } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';

const KINDS = {
  validatingwebhookconfigurations: 'ValidatingWebhookConfiguration',
  mutatingwebhookconfigurations: 'MutatingWebhookConfiguration',
} as const;

/** Source: Kubernetes, admissionregistration.k8s.io/v1: `failurePolicy` is Fail by default. */
function useOf(webhook: unknown): Use {
  const blocks = text(webhook, 'failurePolicy') !== 'Ignore';
  const rules = list(webhook, 'rules');
  const all = (key: string): readonly string[] => [
    ...new Set(rules.flatMap((rule) => list(rule, key)).filter((one) => typeof one === 'string')),
  ];
  const calls = `${firstOf(all('operations'))} of ${firstOf(all('resources'))}`;
  const effect = blocks ? `${calls} fails (failurePolicy Fail)` : `${calls} skips it (failurePolicy Ignore)`;
  const [name, namespace] = ['name', 'namespace'].map((key) => text(webhook, 'clientConfig', 'service', key));
  const server = name === undefined || namespace === undefined ? undefined : `${name}.${namespace}.svc`;
  return { blocks, effect: printable(effect, 300), server: server && printable(server, 253) };
}

/** CA bundles with which kube-apiserver verifies admission webhooks. */
export const webhooks = caBundleSource('webhooks', keysOf(KINDS), (object, plural) =>
  list(raw<V1ValidatingWebhookConfiguration | V1MutatingWebhookConfiguration>(object), 'webhooks').map((webhook) => ({
    where: `${KINDS[plural]} ${shownName(object)} (webhook ${printable(text(webhook, 'name') ?? '', 253)})`,
    caBundle: field(webhook, 'clientConfig', 'caBundle'),
    usedBy: useOf(webhook),
  })),
);
