import type { V1APIService } from '@kubernetes/client-node';
import { listKind } from '../../kubernetes/list.ts';
import { field, raw } from '../../resources/fields.ts';
import type { AuditSource } from '../audit-source.ts';
import { collectCaBundles } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/** CA bundles with which kube-apiserver verifies aggregated API servers. */
export const apiServices: AuditSource = {
  id: 'api-services',
  stage: 'second',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe(context) {
    const bundles = collectCaBundles('api-services', context);
    const { target, now, signal } = context;
    const reading = await readList(listKind(target.workload, 'apiservices', { signal }), (item) =>
      bundles.add(`APIService ${shownName(item)}`, field(raw<V1APIService>(item), 'spec', 'caBundle'), {
        blocks: true,
        effect: 'every call of this API fails',
      }),
    );
    const told = { source: 'api-services' as const, observedAt: new Date(now()).toISOString() };
    return { observations: [...bundles.observations, ...cutShort(told, reading)], count: reading.count };
  },
};
