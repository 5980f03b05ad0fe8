import type { V1APIService } from '@kubernetes/client-node';
import { field, raw } from '../../resources/fields.ts';
import { caBundleSource } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';

/** CA bundles with which kube-apiserver verifies aggregated API servers. */
export const apiServices = caBundleSource('api-services', ['apiservices'], (object) => [
  {
    where: `APIService ${shownName(object)}`,
    caBundle: field(raw<V1APIService>(object), 'spec', 'caBundle'),
    usedBy: { blocks: true, effect: 'every call of this API fails' },
  },
]);
