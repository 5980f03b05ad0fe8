import { field, list, text } from '../../approval/wire.ts';
import { listWebhookConfigurations } from '../../kubernetes/webhook-configurations.ts';
import { printable } from '../../printable.ts';
import type { AuditSource } from '../audit-source.ts';
import { collectCaBundles } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

const KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const;

/** What kube-apiserver verifies admission webhooks with. */
export const webhooks: AuditSource = {
  id: 'webhooks',
  stage: 'second',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe(context) {
    const bundles = collectCaBundles('webhooks', context);
    const { target, now, signal } = context;
    const readings = await Promise.all(
      KINDS.map(async (kind) =>
        readList(listWebhookConfigurations(target.workload, kind, { signal }), (item) => {
          const full = list(item, 'webhooks').some((webhook) => {
            const where = `${kind} ${shownName(item)} (webhook ${printable(text(webhook, 'name') ?? '', 253)})`;
            return bundles.add(where, field(webhook, 'clientConfig', 'caBundle')) === 'full';
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
