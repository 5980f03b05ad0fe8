import * as z from 'zod/mini';
import { matching, readJson } from './contract.ts';

/** A review of an ordinary request is 2 kB. Nothing of a larger one is read. Bytes. */
const MAX_REVIEW = 64 * 1_024;
/** kube-apiserver makes a random UUID for each. Source: apiserver/pkg/admission/plugin/webhook/request, `uuid.NewUUID`. */
const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Source: Kubernetes API reference, admission.k8s.io/v1 AdmissionReview. Nothing else of it is read: what a cluster says is not believed. */
const AdmissionReview = z.object({ request: z.object({ uid: matching(UID, 'a UUID') }) });

/** The uid that an answer has to repeat; undefined where the body has none. Never throws. */
export function reviewUid(body: string): string | undefined {
  const review = readJson(AdmissionReview, body, MAX_REVIEW);
  return review.ok ? review.value.request.uid : undefined;
}

/** As much of a review as is read. */
export function reviewOf(uid: string): string {
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid } });
}

/**
 * Lets the object pass.
 *
 * @param uid of the request; with another one, or none, kube-apiserver takes it for a failure, and with `failurePolicy: Ignore` goes on as well
 */
export function allowedReview(uid: string | undefined): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: uid ?? '', allowed: true },
  };
}
