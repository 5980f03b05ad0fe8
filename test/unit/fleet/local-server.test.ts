import { describe, expect, it } from 'vitest';

import { isLocalServer } from '../../../lambdas/fleet/local-server.ts';

describe('isLocalServer', () => {
  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    'fe80::1',
    'febf::1',
    'fd00:ec2::254',
    'fd00:ec2::23',
    '0.0.0.0',
    '::',
    'instance-data',
    'instance-data.ec2.internal',
    'Instance-Data.EC2.internal.',
  ])('%s is one', (host) => {
    expect(isLocalServer(host)).toBe(true);
  });

  it.each([
    '10.0.0.5',
    '169.253.1.1',
    'fec0::1',
    'fd00:ec3::1',
    '2001:db8::1',
    'api.berlin.example',
    'instance-data.example',
  ])('%s is none', (host) => {
    expect(isLocalServer(host)).toBe(false);
  });
});
