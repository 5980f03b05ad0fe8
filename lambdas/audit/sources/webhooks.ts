import type { V1MutatingWebhookConfiguration, V1ValidatingWebhookConfiguration } from '@kubernetes/client-node';
import type { Use } from '../../contracts/observation.ts';
import { listKind } from '../../kubernetes/list.ts';
import { printable } from '../../printable.ts';
import { field, list, raw, text } from '../../resources/fields.ts';
import { firstOf } from '../../words.ts';
import type { AuditSource } from '../audit-source.ts';
import { collectCaBundles } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

const KINDS = [
  ['validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
  ['mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
] as const;

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
export const webhooks: AuditSource = {
  id: 'webhooks',
  stage: 'second',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe(context) {
    const bundles = collectCaBundles('webhooks', context);
    const { target, now, signal } = context;
    const readings = await Promise.all(
      KINDS.map(async ([plural, kind]) =>
        readList(listKind(target.workload, plural, { signal }), (item) => {
          const full = list(
            raw<V1ValidatingWebhookConfiguration | V1MutatingWebhookConfiguration>(item),
            'webhooks',
          ).some((webhook) => {
            const where = `${kind} ${shownName(item)} (webhook ${printable(text(webhook, 'name') ?? '', 253)})`;
            return bundles.add(where, field(webhook, 'clientConfig', 'caBundle'), useOf(webhook)) === 'full';
          });
          return full ? 'full' : 'more';
        }),
      ),
    );
    const told = { source: 'webhooks' as const, observedAt: new Date(now()).toISOString() };
    return {
      observations: [...bundles.observations, ...cutShort(told, ...readings)],
      count: readings.reduce((sum, { count }) => sum + count, 0),
    };
  },
};
