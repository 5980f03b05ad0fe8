/* oxlint-disable vitest/expect-expect -- the assertions of aws-cdk-lib are not those of vitest */
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Validations } from 'aws-cdk-lib/core';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_FLEET,
  DEFAULT_MONITORING,
  type Fleet,
  type FleetJournal,
  type FleetMonitoring,
} from '../../../lambdas/config/fleet.ts';
import type { HubStack } from '../../../lib/hub-stack.ts';
import { discovery, OTHER_SECRET, SECRET } from '../fleet/values.ts';
import { allowedTo, EVERYTHING, fleetOf, KEY, PLACE, resource, stacksOf, text } from './stacks.ts';

const plain = Template.fromStack(stacksOf(fleetOf(), {}).hub);
const full = Template.fromStack(stacksOf(EVERYTHING).hub);

const DEAD_LETTERS = {
  deadLetterTargetArn: { 'Fn::GetAtt': [resource(plain, 'AWS::SQS::Queue', 'TopicsDeadLetters').id, 'Arn'] },
};

const CLOSED = {
  PublicAccessBlockConfiguration: {
    BlockPublicAcls: true,
    BlockPublicPolicy: true,
    IgnorePublicAcls: true,
    RestrictPublicBuckets: true,
  },
  BucketEncryption: {
    ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
  },
};

const lockOf = (Mode: string, Days: number) => ({
  ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled', Rule: { DefaultRetention: { Mode, Days } } },
});

const propertiesOf = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Properties);

describe('the hub stack', () => {
  it('starts a tick every minute, and never a second time', () => {
    plain.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      State: 'ENABLED',
      Target: {
        Arn: { Ref: resource(plain, 'AWS::StepFunctions::StateMachine', 'TickMachine').id },
        Input: '{"tick":"<aws.scheduler.scheduled-time>"}',
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      },
    });
  });

  it('runs it by a role that may start these functions and write its log, once they are there', () => {
    const { id, properties } = resource(full, 'AWS::StepFunctions::StateMachine', 'TickMachine');
    expect(properties).toMatchObject({
      StateMachineName: 'CertMarshal-tick',
      StateMachineType: 'EXPRESS',
      LoggingConfiguration: { Level: 'ERROR' },
    });
    expect(allowedTo(full, 'TickMachineRole')['lambda:InvokeFunction']).toEqual([
      '<LanedefaultSweep>',
      '<LaneonpremSweep>',
      '<Plan>',
      '<Report>',
    ]);
    const others = Object.keys(allowedTo(full, 'TickMachineRole')).filter((action) => !action.startsWith('logs:'));
    expect(others).toEqual(['lambda:InvokeFunction']);
    const policy = resource(full, 'AWS::IAM::Policy', 'TickMachineRole').id;
    expect(full.findResources('AWS::StepFunctions::StateMachine')[id]?.['DependsOn']).toContain(policy);
  });

  it('handles events of functions that something starts asynchronously, and of no others', () => {
    const configured = (template: Template) => Object.keys(template.findResources('AWS::Lambda::EventInvokeConfig'));
    expect(configured(plain).map((id) => id.replace(/EventInvokeConfig.*/, ''))).toEqual(['Notify']);
    expect(configured(full).map((id) => id.replace(/EventInvokeConfig.*/, ''))).toEqual([
      'Notify',
      'LanedefaultSweep',
      'LaneonpremSweep',
    ]);
    full.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: resource(full, 'AWS::Lambda::Function', 'LaneonpremSweep').id },
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
  });

  it('forgets orders and outcomes after a day, and nothing else of the state', () => {
    expect(resource(plain, 'AWS::S3::Bucket', 'State').properties['LifecycleConfiguration']).toEqual({
      Rules: ['orders/', 'outcomes/'].map((Prefix) => ({ ExpirationInDays: 1, Prefix, Status: 'Enabled' })),
    });
  });

  it('keeps registry and index in a bucket without versions, and every bucket stays, closed and encrypted', () => {
    expect(resource(plain, 'AWS::S3::Bucket', 'State').properties).not.toHaveProperty(
      'VersioningConfiguration',
      expect.anything(),
    );
    plain.allResources('AWS::S3::Bucket', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: CLOSED,
    });
  });

  it('refuses what does not come over TLS', () => {
    for (const type of ['AWS::SQS::QueuePolicy', 'AWS::SNS::TopicPolicy', 'AWS::S3::BucketPolicy'])
      plain.allResourcesProperties(type, {
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          ]),
        },
      });
  });

  it('runs every function alike, with a log group that is kept for a year', () => {
    plain.resourceCountIs('AWS::Lambda::Function', 4);
    full.resourceCountIs('AWS::Lambda::Function', 6);
    for (const [template, architecture] of [
      [plain, 'arm64'],
      [full, 'x86_64'],
    ] as const)
      template.allResourcesProperties('AWS::Lambda::Function', {
        Runtime: 'nodejs24.x',
        Architectures: [architecture],
        Handler: 'index.handler',
        LoggingConfig: { LogGroup: { Ref: Match.stringLikeRegexp('Logs') } },
      });
    for (const [id, group] of Object.entries(full.findResources('AWS::Logs::LogGroup'))) {
      const ofTick = { Properties: { RetentionInDays: 30, KmsKeyId: KEY }, DeletionPolicy: 'Delete' };
      const ofFunction = { Properties: { RetentionInDays: 365, KmsKeyId: KEY }, DeletionPolicy: 'Retain' };
      expect(group).toMatchObject(id.startsWith('TickLogs') ? ofTick : ofFunction);
    }
  });

  it('has lanes that share one role, whose name other accounts know', () => {
    const { id, properties } = resource(full, 'AWS::IAM::Role', 'SweepRole');
    expect(properties['RoleName']).toBe('CertMarshal-sweep-eu-central-1');
    expect(resource(plain, 'AWS::IAM::Role', 'SweepRole').properties['RoleName']).toEqual({
      'Fn::Join': ['', ['CertMarshal-sweep-', { Ref: 'AWS::Region' }]],
    });
    for (const lane of ['Lanedefault', 'Laneonprem'])
      expect(resource(full, 'AWS::Lambda::Function', `${lane}Sweep`).properties['Role']).toEqual({
        'Fn::GetAtt': [id, 'Arn'],
      });
  });

  it('encrypts everything with the key that is given, but what SNS writes with the key of the topics', () => {
    for (const template of [plain, full])
      expect(resource(template, 'AWS::SQS::Queue', 'TopicsDeadLetters').properties).toMatchObject({
        KmsMasterKeyId: { 'Fn::GetAtt': [resource(template, 'AWS::KMS::Key', 'TopicsKey').id, 'Arn'] },
      });
    full.allResourcesProperties('AWS::S3::Bucket', {
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          { BucketKeyEnabled: true, ServerSideEncryptionByDefault: { KMSMasterKeyID: KEY, SSEAlgorithm: 'aws:kms' } },
        ],
      },
    });
  });

  describe('has a webhook', () => {
    it('at one URL without authentication of AWS, whose function anyone may call by it alone', () => {
      full.resourceCountIs('AWS::Lambda::Url', 1);
      const { id } = resource(full, 'AWS::Lambda::Function', 'HintsWebhook');
      full.hasResourceProperties('AWS::Lambda::Url', { AuthType: 'NONE', Cors: Match.absent() });
      const open = propertiesOf(full, 'AWS::Lambda::Permission').filter(({ Principal }) => Principal === '*');
      const anyone = { Principal: '*', FunctionName: { 'Fn::GetAtt': [id, 'Arn'] } };
      // AWS Lambda Developer Guide, "Control access to Lambda function URLs": both are needed.
      expect(open).toEqual([
        { ...anyone, Action: 'lambda:InvokeFunctionUrl', FunctionUrlAuthType: 'NONE' },
        { ...anyone, Action: 'lambda:InvokeFunction', InvokedViaFunctionUrl: true },
      ]);
    });

    it('with concurrency of its own, so that a flood takes none of the sweeps, and no line in the log for a call', () => {
      full.hasResourceProperties('AWS::Lambda::Function', {
        FunctionName: 'CertMarshal-webhook',
        ReservedConcurrentExecutions: 2,
        MemorySize: 256,
        Timeout: 5,
        LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN', LogGroup: Match.anyValue() },
      });
    });

    it('with a key that CloudFormation makes and no template has', () => {
      full.hasResourceProperties('AWS::SecretsManager::Secret', {
        GenerateSecretString: { PasswordLength: 64, ExcludePunctuation: true },
        KmsKeyId: KEY,
        SecretString: Match.absent(),
      });
    });

    it('that may start the sweeps of the lanes and read its key, and nothing else', () => {
      expect(allowedTo(full, 'HintsWebhookWebhookRole')).toEqual({
        'kms:Decrypt': [KEY],
        'lambda:InvokeFunction': ['<LanedefaultSweep>', '<LaneonpremSweep>'],
        'logs:CreateLogStream': ['<HintsWebhookWebhookLogs>'],
        'logs:PutLogEvents': ['<HintsWebhookWebhookLogs>'],
        'secretsmanager:GetSecretValue': ['<HintsWebhookKey>'],
      });
    });

    it('and rings when it fails, not when Lambda refuses a flood', () => {
      const names = propertiesOf(full, 'AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
      expect(names).toContain('certmarshal-function-errors-webhook');
    });
  });

  it('makes access entries of its own account and Region', () => {
    full.hasResourceProperties('AWS::EKS::AccessEntry', {
      ClusterName: 'dublin',
      KubernetesGroups: ['certmarshal'],
      Type: 'STANDARD',
      PrincipalArn: { 'Fn::GetAtt': [resource(full, 'AWS::IAM::Role', 'SweepRole').id, 'Arn'] },
    });
    plain.resourceCountIs('AWS::EKS::AccessEntry', 0);
  });

  it('lets alarms publish, which the policies of the topics and the key must both say', () => {
    const publishers = Object.entries(plain.findResources('AWS::SNS::TopicPolicy'))
      .filter(([, policy]) => JSON.stringify(policy).includes('cloudwatch.amazonaws.com'))
      .map(([id]) => id.replace(/Policy[0-9A-F]{8}$/, ''));
    // What is told as a warning always comes from notify.
    expect(publishers).toEqual(['TopicsCritical', 'TopicsPager']);
    plain.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: 'Allow',
            Action: 'sns:Publish',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: { ArnLike: { 'aws:SourceArn': Match.anyValue() } },
          }),
        ]),
      },
    });
    plain.hasResourceProperties('AWS::KMS::Key', {
      EnableKeyRotation: true,
      KeyPolicy: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          }),
        ]),
      },
    });
    plain.allResourcesProperties('AWS::SNS::Topic', { KmsMasterKeyId: Match.anyValue() });
  });

  describe('notify', () => {
    const id = resource(plain, 'AWS::Lambda::Function', 'Notify').id;
    const topic = (name: string) => ({ Ref: resource(plain, 'AWS::SNS::Topic', `Topics${name}`).id });

    it('hears of every alarm and contributor, and goes to people as it is where it cannot be told', () => {
      plain.resourceCountIs('AWS::SNS::Subscription', 0);
      plain.hasResourceProperties('AWS::Events::Rule', {
        // That of the account, on which CloudWatch puts its events.
        EventBusName: Match.absent(),
        EventPattern: {
          source: ['aws.cloudwatch'],
          'detail-type': ['CloudWatch Alarm State Change', 'CloudWatch Alarm Contributor State Change'],
          detail: { alarmName: [{ prefix: 'certmarshal-' }] },
        },
        State: 'ENABLED',
        Targets: [{ Arn: { 'Fn::GetAtt': [id, 'Arn'] } }],
      });
      plain.hasResourceProperties('AWS::Lambda::Permission', {
        Principal: 'events.amazonaws.com',
        SourceArn: { 'Fn::GetAtt': [resource(plain, 'AWS::Events::Rule', 'NotifyAlarmEvents').id, 'Arn'] },
      });
      plain.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
        FunctionName: { Ref: id },
        MaximumRetryAttempts: 2,
        MaximumEventAgeInSeconds: 900,
        DestinationConfig: { OnFailure: { Destination: topic('Critical') } },
      });
    });

    it('is not all that is subscribed: people are, where fleet.yaml lists them', () => {
      const [mail, url] = ['oncall@example.com', 'https://pager.example.com/integration/SECRET/enqueue'];
      const subscribed = (subscribe: FleetMonitoring['subscribe']) =>
        Template.fromStack(stacksOf(fleetOf({ monitoring: { ...DEFAULT_MONITORING, subscribe } }), {}).hub);
      const template = subscribed({ critical: [mail, url], warning: [mail], pager: [url], fallback: [mail] });
      const subscriptions = template.findResources('AWS::SNS::Subscription');
      const of = (name: string, Protocol: string, Endpoint: string, filter?: object) => ({
        TopicArn: topic(name),
        Protocol,
        Endpoint,
        RedrivePolicy: DEAD_LETTERS,
        ...filter,
      });
      expect(Object.values(subscriptions).map(({ Properties }) => Properties)).toEqual([
        of('Critical', 'email', mail),
        of('Critical', 'https', url),
        of('Warning', 'email', mail),
        of('Incidents', 'https', url, { FilterPolicy: { severity: ['critical'] } }),
        of('Pager', 'email', mail),
      ]);
      // The other one stays what it is.
      const [left] = Object.keys(subscribed({ critical: [url] }).findResources('AWS::SNS::Subscription'));
      expect(subscriptions[left ?? '']?.['Properties'].Endpoint).toBe(url);
      // Nothing else has the address: no metadata, no file beside a function, no name.
      expect(JSON.stringify(template.toJSON()).split('SECRET')).toHaveLength(3);
    });

    it('sends a message once a day, by the clock that fleet.yaml names', () => {
      const monitoring = { ...DEFAULT_MONITORING, daily: { at: '08:05', timeZone: 'Europe/Berlin' } };
      const template = Template.fromStack(stacksOf(fleetOf({ monitoring }), {}).hub);
      template.hasResourceProperties('AWS::Scheduler::Schedule', {
        ScheduleExpression: 'cron(5 8 * * ? *)',
        ScheduleExpressionTimezone: 'Europe/Berlin',
        Target: { Input: '{"daily":true}' },
      });
    });
  });

  // Source of what replaces a bucket: AWS CloudFormation Template Reference, AWS::S3::Bucket.
  it.each<[string, FleetJournal['objectLock'], object]>([
    ['for 90 days without a setting', DEFAULT_FLEET.journal.objectLock, lockOf('GOVERNANCE', 90)],
    ['as fleet.yaml says', { mode: 'compliance', days: 30 }, lockOf('COMPLIANCE', 30)],
    ['not at all', 'off', {}],
    [
      'in a bucket that version 0.1 made with it',
      { mode: 'governance', days: 365, atCreation: true },
      { ...lockOf('GOVERNANCE', 365), ObjectLockEnabled: true },
    ],
  ])('locks the journal %s, in the bucket that there is', (_, objectLock, lock) => {
    const { id, properties } = resource(
      Template.fromStack(stacksOf(fleetOf({ journal: { objectLock } }), {}).hub),
      'AWS::S3::Bucket',
      'Journal',
    );
    expect(id).toBe('JournalAE8C44B2');
    expect(properties).toEqual({
      ...CLOSED,
      LifecycleConfiguration: {
        Rules: [{ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: 'Enabled' }],
      },
      VersioningConfiguration: { Status: 'Enabled' },
      ...lock,
    });
  });

  describe('permissions', () => {
    it('of a sweep do not let its own code touch the network', () => {
      const allowed = allowedTo(full, 'SweepRole');
      expect(allowed['DENY ec2:CreateNetworkInterface']).toEqual(allowed['ec2:CreateNetworkInterface']);
      expect(
        Object.keys(allowedTo(plain, 'SweepRole')).filter((action) => action.includes('NetworkInterface')),
      ).toEqual([]);
    });

    it('know no cluster of the own account where none is discovered', () => {
      const elsewhere = fleetOf({ discovery: [discovery({ accounts: ['111122223333'] })] });
      const allowed = allowedTo(Template.fromStack(stacksOf(elsewhere).hub), 'SweepRole');
      expect(Object.keys(allowed).filter((action) => /^(?:eks|ec2):/.test(action))).toEqual([]);
    });

    it('have a wildcard where an action knows no resource, and nowhere else', () => {
      const unbound = ['DispatchRole', 'SweepRole', 'NotifyNotifyRole', 'HintsWebhookWebhookRole'].flatMap((role) =>
        Object.entries(allowedTo(full, role)).flatMap(([action, resources]) => (resources.includes('*') ? action : [])),
      );
      expect(unbound).toContain('eks:ListClusters');
      expect(unbound.filter((action) => !/^(?:DENY )?(?:eks:ListClusters|ec2:\w+)$/.test(action))).toEqual([]);
    });

    it('of functions with one role differ in what they may write', () => {
      const writers = (role: string) =>
        propertiesOf(full, 'AWS::IAM::Policy')
          .filter(({ Roles }) => JSON.stringify(Roles).includes(`"${role}`))
          .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
          .filter(({ Action, Resource }) => Action === 's3:PutObject' && JSON.stringify(Resource).includes('"State'))
          .map(({ Resource, Condition }) => [
            text([Resource].flat()),
            text(Condition?.ArnEquals['lambda:SourceFunctionArn'] ?? 'any').replace(/.*:/, ''),
          ]);
      expect(writers('DispatchRole')).toEqual([
        ['[<State>/orders/*]', 'CertMarshal-plan'],
        ['[<State>/fleet-index.json.gz,<State>/registry.json.gz,<State>/report.html]', 'CertMarshal-report'],
      ]);
      expect(writers('SweepRole')).toEqual([
        ['[<State>/outcomes/default/*]', 'CertMarshal-sweep-default'],
        ['[<State>/outcomes/onprem/*]', 'CertMarshal-sweep-onprem'],
        ['[<Journal>/journal/*,<State>/rollouts.json]', 'any'],
      ]);
      const names = propertiesOf(full, 'AWS::Lambda::Function').map(({ FunctionName }) => FunctionName);
      expect(names).toEqual(
        expect.arrayContaining(['CertMarshal-plan', 'CertMarshal-report', 'CertMarshal-sweep-onprem']),
      );
    });

    it('use no policy of AWS', () => {
      expect(JSON.stringify(full.toJSON())).not.toContain(':policy/service-role');
    });
  });

  it('shows the configuration where cdk diff does', () => {
    expect(full.toJSON().Metadata).toMatchObject({
      'Discovery 1, accessEntries': ['dublin'],
      'Management cluster mgmt, kubeconfigSecret': OTHER_SECRET,
      'Management cluster mgmt, workloadClusters, kubeconfigsFromManagementCluster': false,
      'Cluster paris, kubeconfigSecret': SECRET,
      'Lane onprem, vpcId': 'vpc-0a1b2c3d4e5f60718',
      'Hub, webhook': true,
      'Audit, everyMinutes': 15,
      'Monitoring, objective': '0.999',
      'Monitoring, alarms': {},
      'Policy default, mode': 'observe on eks, enforce on eks-anywhere',
      'Rollouts 1, clusters': ['berlin-*'],
    });
  });
});

describe('cdk-nag', () => {
  function check(fleet: Fleet, spoil: (stack: HubStack) => void = () => {}): () => unknown {
    const { app, hub } = stacksOf(fleet, PLACE);
    spoil(hub);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    return () => app.synth();
  }

  it.each([
    ['the fleet that ships', fleetOf()],
    ['everything', EVERYTHING],
  ])('finds nothing that is not acknowledged in %s', (_what, fleet) => {
    expect(check(fleet)).not.toThrow();
  });

  it('would find something', () => {
    expect(check(fleetOf(), (stack) => new Queue(stack, 'Careless'))).toThrow('AwsSolutions-SQS4');
  });
});
